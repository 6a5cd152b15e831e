// SPDX-License-Identifier: GPL-2.0-or-later
#include <unistd.h>

#include "base/alloc.h"
#include "symbol/elf_symbols.h"
#include "symbol/shared_code.h"
#include "tests/unit/unit.h"

#define AT(address, bytes, text)                                                                   \
	{                                                                                          \
		.start = (address), .end = (address) + (bytes), .reach = (address) + (bytes),      \
		.name = (text), .is_sized = true, .is_function = true                              \
	}

/* By address. */
static struct elf_symbol rows[] = {
	AT(0x100, 0x80, "count_apples"),
	AT(0x100, 0x80, "count_pears"),
	AT(0x100, 0x80, "_Z11count_plumsi"),
	AT(0x100, 0x20, "a_label"),
	AT(0x100, 0x80, "count_pears.constprop.0"),
	AT(0x200, 0x40, "__libc_write"),
	AT(0x200, 0x40, "write"),
	AT(0x300, 0x40, "_ZN1AC1Ev"),
	AT(0x300, 0x40, "_ZN1AC2Ev"),
	AT(0x380, 0x40, "_ZL5scaleii.constprop.0"),
	AT(0x380, 0x40, "_ZL7enlargei"),
	AT(0x3c0, 0x40, "_ZL5twiceIiET_S0_"),
};
static const struct elf_symbols symbols = {.rows = rows, .nr = ARRAY_SIZE(rows)};

static void check(uint64_t address, const char *name, const char *expected)
{
	const struct symbol_location level = {.name = name};
	struct result_builder builder;

	result_builder_init(&builder, 1);
	result_builder_begin(&builder, 0);
	result_builder_add(&builder, &level);
	shared_code_tell(&builder, &builder.result->chains[0], &symbols, address);
	if (expected)
		assert_string_equal(builder.result->locations[0].shared, expected);
	else
		assert_null(builder.result->locations[0].shared);
	symbol_result_free(result_builder_finish(&builder));
}

TEST(symbol_shared_code, other_functions_are_named)
{
	check(0x140, "count_plums(int)", "count_apples\ncount_pears");
	check(0x100, "count_apples", "count_pears\ncount_plums(int)");
}

/* One for the library itself, two constructors of one name, and none. */
TEST(symbol_shared_code, other_names_of_the_same_function_are_not)
{
	check(0x210, "write", NULL);
	check(0x310, "A::A()", NULL);
	check(0x400, "elsewhere", NULL);
}

/* A static function has no linkage name in debug information. */
TEST(symbol_shared_code, the_same_name_without_parameters_is_none)
{
	check(0x380, "scale", "enlarge(int)");
	check(0x3c0, "twice<int>", NULL);
	check(0x380, "enlarge", "scale(int, int)");
	check(0x380, "scal", "scale(int, int)\nenlarge(int)");
}

/* A symbol table may have any number of symbols at one place, and a function any of addresses. */
TEST(symbol_shared_code, of_symbols_without_number_some_are_named)
{
	const size_t nr = 1000000, nr_addresses = 1000;
	cleanup_free struct elf_symbol *many = xcalloc(nr, sizeof(*many));
	const struct elf_symbols all = {.rows = many, .nr = nr};
	struct result_builder builder;

	for (size_t i = 0; i < nr; i++)
		many[i] = (struct elf_symbol)AT(0x100, 0x10000, i % 2 ? "apples" : "pears");
	alarm(60);
	result_builder_init(&builder, nr_addresses);
	for (size_t i = 0; i < nr_addresses; i++) {
		const struct symbol_location level = {.name = "apples"};

		result_builder_begin(&builder, i);
		result_builder_add(&builder, &level);
		shared_code_tell(&builder, &builder.result->chains[i], &all, 0x100 + i);
	}
	alarm(0);
	for (size_t i = 0; i < nr_addresses; i++)
		assert_string_equal(builder.result->locations[i].shared, "pears");
	symbol_result_free(result_builder_finish(&builder));
}
