// SPDX-License-Identifier: GPL-2.0-or-later
#include <dwarf.h>

#include "base/alloc.h"
#include "dwarf/dwarf_scope.h"
#include "tests/unit/dwarf_bytes.h"
#include "tests/unit/unit.h"

/* Codes of the abbreviations below. */
enum {
	UNIT = 1,
	FUNCTION, /* low_pc, high_pc */
	INLINED,  /* origin, low_pc, high_pc, call_line */
	ABSTRACT, /* a subprogram without code */
	CLASS,
	BLOCK,	      /* without addresses */
	WITH_SIBLING, /* a type with DW_AT_sibling */
	NAMESPACE,
	VARIABLE,
};

/* clang-format off: a row is an abbreviation, and entries are indented as they nest */
static const uint8_t abbrevs[] = {
	UNIT,
	DW_TAG_compile_unit,
	1,
	0,
	0,
	FUNCTION,
	DW_TAG_subprogram,
	1,
	DW_AT_low_pc,
	DW_FORM_addr,
	DW_AT_high_pc,
	DW_FORM_data1,
	0,
	0,
	INLINED,
	DW_TAG_inlined_subroutine,
	1,
	DW_AT_abstract_origin,
	DW_FORM_ref1,
	DW_AT_low_pc,
	DW_FORM_addr,
	DW_AT_high_pc,
	DW_FORM_data1,
	DW_AT_call_line,
	DW_FORM_data1,
	0,
	0,
	ABSTRACT,
	DW_TAG_subprogram,
	1,
	0,
	0,
	CLASS,
	DW_TAG_class_type,
	1,
	0,
	0,
	BLOCK,
	DW_TAG_lexical_block,
	1,
	0,
	0,
	WITH_SIBLING,
	DW_TAG_structure_type,
	1,
	DW_AT_sibling,
	DW_FORM_ref1,
	0,
	0,
	NAMESPACE,
	DW_TAG_namespace,
	1,
	0,
	0,
	VARIABLE,
	DW_TAG_variable,
	0,
	DW_AT_name,
	DW_FORM_string,
	0,
	0,
	0,
};

#define UNIT_HEADER_BYTES			 11
#define AT_FUNCTION(low, size)			 FUNCTION, U64(low), size
#define AT_INLINED(origin, low, size, call_line) INLINED, origin, U64(low), size, call_line

/* The walk over the entries of one unit, whose header is put before them. */
struct fixture {
	struct dwarf_made made;
	uint8_t info[512];
	struct scope_table table;
};

static void match(struct fixture *fixture, const uint8_t *entries, size_t nr,
		  const uint64_t *addresses, size_t nr_addresses)
{
	const uint8_t header[UNIT_HEADER_BYTES] = {U32(7 + nr), U16(4), U32(0), 8};

	*fixture = (struct fixture){.table = {.nr = 0}};
	memcpy(fixture->info, header, sizeof(header));
	memcpy(fixture->info + sizeof(header), entries, nr);
	dwarf_made_set(&fixture->made, DWARF_INFO, fixture->info, sizeof(header) + nr);
	DWARF_MADE_SET(&fixture->made, DWARF_ABBREV, abbrevs);
	dwarf_made_open(&fixture->made);
	dwarf_match_scopes(dwarf_made_unit(&fixture->made), addresses, nr_addresses,
			   &fixture->table);
}

#define MATCH(fixture, entries, addresses)                                                         \
	match(fixture, entries, sizeof(entries), addresses, ARRAY_SIZE(addresses))

static void end(struct fixture *fixture)
{
	scope_table_release(&fixture->table);
	dwarf_file_release(&fixture->made.file);
}

/* The scopes of an address, innermost first: their call lines, 0 for the function itself. */
static void assert_chain(const struct fixture *fixture, size_t address, const uint32_t *lines,
			 size_t nr)
{
	uint32_t scope = fixture->table.of_address[address];

	for (size_t i = 0; i < nr; i++) {
		assert_int_not_equal(scope, SCOPE_NONE);
		assert_int_equal(fixture->table.rows[scope].call_line, lines[i]);
		scope = fixture->table.rows[scope].parent;
	}
	assert_int_equal(scope, SCOPE_NONE);
}

#define ASSERT_CHAIN(fixture, address, ...)                                                        \
	do {                                                                                       \
		static const uint32_t lines_[] = {__VA_ARGS__};                                    \
		assert_chain(fixture, address, lines_, ARRAY_SIZE(lines_));                        \
	} while (0)

#define ASSERT_NO_CHAIN(fixture, address)                                                          \
	assert_int_equal((fixture)->table.of_address[address], SCOPE_NONE)

TEST(symbol_scope, inlined_functions_nest)
{
	static const uint8_t entries[] = {
		UNIT,
		AT_FUNCTION(0x1000, 0x40),
		BLOCK,
		AT_INLINED(11, 0x1010, 0x20, 7),
		AT_INLINED(11, 0x1018, 8, 9),
		0,
		0,
		0,
		0,
		AT_FUNCTION(0x2000, 0x10),
		0,
		0,
	};
	static const uint64_t addresses[] = {0xfff, 0x1000, 0x1010, 0x1018, 0x1020, 0x1040, 0x2008};
	struct fixture fixture;

	MATCH(&fixture, entries, addresses);
	ASSERT_NO_CHAIN(&fixture, 0);
	ASSERT_CHAIN(&fixture, 1, 0);
	ASSERT_CHAIN(&fixture, 2, 7, 0);
	ASSERT_CHAIN(&fixture, 3, 9, 7, 0);
	ASSERT_CHAIN(&fixture, 4, 7, 0);
	ASSERT_NO_CHAIN(&fixture, 5);
	ASSERT_CHAIN(&fixture, 6, 0);
	assert_false(fixture.made.file.damaged);
	end(&fixture);
}

TEST(symbol_scope, code_below_abstract_functions_is_found)
{
	/* A lambda: its operator() stands in a class within a function that has no code. */
	static const uint8_t entries[] = {
		UNIT,
		ABSTRACT,
		CLASS,
		AT_FUNCTION(0x1000, 0x10),
		AT_INLINED(11, 0x1008, 4, 5),
		0,
		0,
		0,
		0,
		AT_FUNCTION(0x2000, 0x10),
		AT_FUNCTION(0x3000, 0x10),
		0, /* a nested function of GNU C */
		0,
		0,
	};
	static const uint64_t addresses[] = {0x1000, 0x1009, 0x2000, 0x3000};
	struct fixture fixture;

	MATCH(&fixture, entries, addresses);
	ASSERT_CHAIN(&fixture, 0, 0);
	ASSERT_CHAIN(&fixture, 1, 5, 0);
	ASSERT_CHAIN(&fixture, 2, 0);
	ASSERT_CHAIN(&fixture, 3, 0);
	end(&fixture);
}

TEST(symbol_scope, namespaces_are_entered)
{
	static const uint8_t entries[] = {
		UNIT, NAMESPACE, NAMESPACE, AT_FUNCTION(0x1000, 0x10), 0, 0, 0, 0,
	};
	static const uint64_t addresses[] = {0x1004};
	struct fixture fixture;

	MATCH(&fixture, entries, addresses);
	ASSERT_CHAIN(&fixture, 0, 0);
	end(&fixture);
}

TEST(symbol_scope, siblings_are_jumped_to)
{
	/* What lies between would mark the unit as damaged, were it read. */
	static const uint8_t entries[] = {
		UNIT, WITH_SIBLING, UNIT_HEADER_BYTES + 5, 99, 99, AT_FUNCTION(0x1000, 0x10), 0, 0,
	};
	static const uint64_t addresses[] = {0x1004};
	struct fixture fixture;

	MATCH(&fixture, entries, addresses);
	ASSERT_CHAIN(&fixture, 0, 0);
	assert_false(fixture.made.file.damaged);
	end(&fixture);
}

TEST(symbol_scope, siblings_that_point_back_end_nothing)
{
	static const uint8_t entries[] = {
		UNIT,
		WITH_SIBLING,
		UNIT_HEADER_BYTES + 1,
		VARIABLE,
		'v',
		0,
		0,
		AT_FUNCTION(0x1000, 0x10),
		0,
		0,
	};
	static const uint64_t addresses[] = {0x1004};
	struct fixture fixture;

	MATCH(&fixture, entries, addresses);
	ASSERT_CHAIN(&fixture, 0, 0);
	end(&fixture);
}

TEST(symbol_scope, dropped_functions_hold_nothing)
{
	static const uint8_t entries[] = {UNIT, AT_FUNCTION(0, 0x7f), 0, 0};
	static const uint64_t addresses[] = {0x10};
	struct fixture fixture;

	MATCH(&fixture, entries, addresses);
	ASSERT_NO_CHAIN(&fixture, 0);
	end(&fixture);
}

TEST(symbol_scope, functions_that_share_code_do_not_mix)
{
	static const uint8_t entries[] = {
		UNIT,
		AT_FUNCTION(0x1000, 0x10),
		AT_INLINED(11, 0x1004, 4, 5),
		0,
		0,
		AT_FUNCTION(0x1000, 0x10),
		AT_INLINED(11, 0x1008, 4, 6),
		0,
		0,
		0,
	};
	static const uint64_t addresses[] = {0x1004, 0x1008};
	struct fixture fixture;

	MATCH(&fixture, entries, addresses);
	ASSERT_CHAIN(&fixture, 0, 0);
	ASSERT_CHAIN(&fixture, 1, 6, 0);
	end(&fixture);
}

TEST(symbol_scope, damage_ends_the_walk)
{
	static const uint8_t unknown_code[] = {UNIT, AT_FUNCTION(0x1000, 0x10), 0, 99,
					       AT_FUNCTION(0x2000, 0x10)};
	static const uint64_t addresses[] = {0x1004, 0x2004};
	struct fixture fixture;

	MATCH(&fixture, unknown_code, addresses);
	ASSERT_CHAIN(&fixture, 0, 0);
	ASSERT_NO_CHAIN(&fixture, 1);
	assert_true(fixture.made.file.damaged);
	end(&fixture);
}

/* clang-format on */
