// SPDX-License-Identifier: GPL-2.0-or-later
/* Options that are refused where probes have no gate. */
#include "base/err.h"
#include "cmd/counting.h"
#include "cmd/symbol_options.h"
#include "patch/patch.h"
#include "symbol/symbol.h"
#include "tests/unit/unit.h"

TEST(counting, inside_of_a_function_is_refused_where_there_is_no_gate)
{
	const char *text = "read";
	struct count_options functions = {.functions = {.values = &text, .nr = 1}},
			     calls_in = {.calls_in = {.values = &text, .nr = 1}},
			     lines = {.lines = {.values = &text, .nr = 1}},
			     syscalls = {.syscalls = true};
	struct count_options *all[] = {&functions, &calls_in, &lines, &syscalls};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct err err = ERR_INIT;

		assert_int_equal(count_options_check(all[i], "m68k", &err), 0);
		all[i]->within = "main";
		assert_int_equal(count_options_check(all[i], "m68k", &err), ERR_INVALID);
		assert_string_equal(err.what,
				    "calls inside of a function cannot be counted on m68k yet");
		assert_int_equal(count_options_check(all[i], NULL, &err), 0);
	}
}

TEST(counting, within_alone_is_not_refused)
{
	struct count_options none = {.within = "main"};

	assert_int_equal(count_options_check(&none, "m68k", NULL), 0);
}

TEST(counting, of_memory_begins)
{
	struct count_options memory = {.max = 1, .memory = "512K"};
	struct symbol_options symbols = {.debuginfod = false};
	struct err err = ERR_INIT;
	struct counting *counting;

	assert_int_equal(counting_new(&memory, symbols, &counting, &err), 0);
	assert_non_null(counting);
	counting_free(counting);
}
