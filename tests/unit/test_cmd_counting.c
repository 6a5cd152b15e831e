// SPDX-License-Identifier: GPL-2.0-or-later
/* From options to what is counted. */
#include "base/err.h"
#include "cmd/counting.h"
#include "cmd/symbol_options.h"
#include "symbol/symbol.h"
#include "tests/unit/unit.h"

TEST(counting, of_memory_begins)
{
	struct count_options memory = {.max = 1, .memory = "512K"};
	struct symbol_options symbols = {.debuginfod = false};
	struct err err = ERR_INIT;
	struct counting *counting;

	assert_int_equal(counting_new(&memory, symbols, true, &counting, &err), 0);
	assert_non_null(counting);
	counting_free(counting);
}
