// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "symbol/elf_symbols.h"
#include "symbol/familiar_names.h"
#include "symbol/function_names.h"
#include "tests/unit/unit.h"

/* By address, and of one address the name to show last, as elf_symbols.h says. */
static struct elf_symbol rows[] = {
	{.start = 0x100, .end = 0x180, .reach = 0x80, .name = "__GI___libc_write"},
	{.start = 0x100, .end = 0x180, .reach = 0x80, .name = "__libc_write"},
	{.start = 0x100, .end = 0x180, .reach = 0x80, .name = "write"},
	{.start = 0x200, .end = 0x240, .reach = 0x40, .name = "clock_nanosleep@@GLIBC_2.17"},
	{.start = 0x300, .end = 0x340, .reach = 0x40, .name = "sum"},
	{.start = 0x400, .end = 0x440, .reach = 0x40, .name = "__GI____strtof_l"},
};
static const struct elf_symbols symbols = {.rows = rows, .nr = ARRAY_SIZE(rows)};

static void note_prints(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t nr_whole;

		bare_name_bytes(rows[i].name, &nr_whole);
		rows[i].whole_print = name_print(rows[i].name, nr_whole);
	}
}

/* A chain of levels, innermost first, in a builder of its own. */
static struct symbol_chain *make_chain(struct result_builder *builder,
				       const struct symbol_location *levels, size_t nr)
{
	result_builder_init(builder, 1);
	result_builder_begin(builder, 0);
	for (size_t i = 0; i < nr; i++)
		result_builder_add(builder, &levels[i]);
	return &builder->result->chains[0];
}

static void assert_named(uint64_t address, const char *name, const char *usual)
{
	const struct symbol_location level = {.name = name};
	struct result_builder builder;
	struct symbol_chain *chain = make_chain(&builder, &level, 1);
	const struct symbol_location *named = &builder.result->locations[0];

	familiar_names_give(&builder, chain, &symbols, address);
	assert_string_equal(named->name, usual);
	if (strcmp(name, usual) == 0)
		assert_null(named->linkage_name);
	else
		assert_string_equal(named->linkage_name, name);
	symbol_result_free(result_builder_finish(&builder));
}

TEST(symbol_familiar_names, as_callers_say)
{
	assert_named(0x110, "__GI___libc_write", "write");
	assert_named(0x110, "__libc_write", "write");
	assert_named(0x210, "__clock_nanosleep", "clock_nanosleep");
	assert_named(0x410, "__GI____strtof_l", "___strtof_l");
}

TEST(symbol_familiar_names, others_stay)
{
	assert_named(0x310, "__add", "__add");	   /* of the same code, and no name of it */
	assert_named(0x110, "write", "write");	   /* none to better */
	assert_named(0x110, "write64", "write64"); /* the program's own word */
	assert_named(0x900, "__libc_fork", "__libc_fork");
	assert_named(0x110, "_ZN5write5writeEv", "_ZN5write5writeEv");
}

TEST(symbol_familiar_names, inlined_ones_by_their_symbol)
{
	const struct symbol_location levels[] = {{.name = "__GI___libc_write"}, {.name = "sum"}};
	struct result_builder builder;
	struct symbol_chain *chain = make_chain(&builder, levels, 2);

	note_prints();
	familiar_names_give(&builder, chain, &symbols, 0x310);
	assert_string_equal(builder.result->locations[0].name, "write");
	assert_string_equal(builder.result->locations[1].name, "sum");
	symbol_result_free(result_builder_finish(&builder));
}

TEST(symbol_familiar_names, without_versions)
{
	struct name_pool pool;

	name_pool_init(&pool);
	assert_string_equal(familiar_name(&pool, "f@@V2"), "f");
	assert_string_equal(familiar_name(&pool, "f@V1"), "f");
	assert_string_equal(familiar_name(&pool, "__GI_f"), "f");
	assert_string_equal(familiar_name(&pool, "__f"), "__f");
	assert_string_equal(familiar_name(&pool, "@f"), "@f");
	name_pool_release(&pool);
}

TEST(symbol_familiar_names, a_part_is_no_call)
{
	const struct symbol_location levels[] = {
		{.name = "read", .function_file = "r.c", .function_line = 24, .line = 26},
		{.name = "read", .function_file = "r.c", .function_line = 24, .line = 24},
	};
	struct result_builder builder;
	struct symbol_chain *chain = make_chain(&builder, levels, 2);

	familiar_names_join_parts(&builder, chain);
	assert_int_equal(chain->nr, 1);
	assert_int_equal(builder.result->locations[chain->first].line, 26);
	symbol_result_free(result_builder_finish(&builder));
}

TEST(symbol_familiar_names, inlined_recursion_stays)
{
	const struct symbol_location levels[] = {
		{.name = "fib", .function_file = "f.c", .function_line = 5, .line = 7},
		{.name = "fib", .function_file = "f.c", .function_line = 5, .line = 8},
		{.name = "main", .function_file = "f.c", .function_line = 20, .line = 20},
	};
	struct result_builder builder;
	struct symbol_chain *chain = make_chain(&builder, levels, 3);

	familiar_names_join_parts(&builder, chain);
	assert_int_equal(chain->nr, 3);
	symbol_result_free(result_builder_finish(&builder));
}
