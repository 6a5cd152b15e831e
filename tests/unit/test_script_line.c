// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "script/cpython_line.h"
#include "tests/unit/unit.h"

/*
 * co_linetable of this function in CPython 3.11, which begins in line 1, and the line of each unit
 * as code.co_lines() has them:
 *
 *	1	def f(a):
 *	2	    b = a + 1
 *	3	    for i in range(b):
 *	4	        b += (
 *	5	            i)
 *	6	    return b
 */
static const uint8_t table[] = {0x80, 0x00, 0xd8, 0x08, 0x09, 0x88, 0x41, 0x89, 0x05, 0x80, 0x41,
				0xdd, 0x0d, 0x12, 0x90, 0x31, 0x89, 0x58, 0x8c, 0x58, 0xf0, 0x00,
				0x02, 0x05, 0x0f, 0xf0, 0x00, 0x02, 0x05, 0x0f, 0x88, 0x01, 0xd8,
				0x08, 0x09, 0xd8, 0x0c, 0x0d, 0xf1, 0x03, 0x01, 0x09, 0x0f, 0x88,
				0x01, 0x88, 0x01, 0xe0, 0x0b, 0x0c, 0x80, 0x48};
static const uint8_t lines[] = {1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
				3, 3, 3, 3, 3, 3, 3, 4, 5, 4, 4, 4, 4, 6, 6};

TEST(script_line, follows_the_table)
{
	for (size_t unit = 0; unit < ARRAY_SIZE(lines); unit++)
		assert_int_equal(cpython_line(CPYTHON_LINES_BY_ENTRY, table, sizeof(table), 1,
					      (int64_t)unit),
				 lines[unit]);
	assert_int_equal(
		cpython_line(CPYTHON_LINES_BY_ENTRY, table, sizeof(table), 1, ARRAY_SIZE(lines)),
		0);
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_ENTRY, table, sizeof(table), 101, 2),
			 lines[2] + 100);
}

/* The same function, and after `return b` in a `try` a line in its `finally`. */
static const uint8_t by_step[] = {0x00, 0x01, 0x08, 0x01, 0x0c, 0x01, 0x02, 0x01, 0x02, 0xff,
				  0x06, 0x02, 0x02, 0x01, 0x04, 0x02, 0x04, 0xfe, 0x02, 0x02};
static const uint8_t lines_by_step[] = {2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 5, 4,
					4, 4, 6, 7, 7, 9, 9, 7, 9, 9, 9, 9, 9};
static const uint8_t by_range[] = {0x08, 0x01, 0x0c, 0x01, 0x02, 0x01, 0x02, 0x01,
				   0x06, 0xff, 0x02, 0x02, 0x04, 0x01, 0x0c, 0x02};
static const uint8_t lines_by_range[] = {2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 5,
					 4, 4, 4, 6, 7, 7, 9, 9, 9, 9, 9, 9};

/* As dis.findlinestarts() of 3.9 and code.co_lines() of 3.10 have them. */
TEST(script_line, follows_the_tables_of_older_versions)
{
	for (size_t unit = 0; unit < ARRAY_SIZE(lines_by_step); unit++)
		assert_int_equal(cpython_line(CPYTHON_LINES_BY_STEP, by_step, sizeof(by_step), 1,
					      (int64_t)unit),
				 lines_by_step[unit]);
	for (size_t unit = 0; unit < ARRAY_SIZE(lines_by_range); unit++)
		assert_int_equal(cpython_line(CPYTHON_LINES_BY_RANGE, by_range, sizeof(by_range), 1,
					      (int64_t)unit),
				 lines_by_range[unit]);
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_STEP, by_step, sizeof(by_step), 7, -1), 7);
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_RANGE, by_range, sizeof(by_range), 7, -1),
			 7);
	/* All is on the first line; beyond the end of ranges there is none. */
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_STEP, NULL, 0, 7, 9), 7);
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_RANGE, NULL, 0, 7, 9), 0);
}

TEST(script_line, may_be_none_in_a_table_of_ranges)
{
	/* one unit on the next line, one without a line, one a line further */
	static const uint8_t table_of_three[] = {2, 1, 2, 0x80, 2, 1};

	assert_int_equal(cpython_line(CPYTHON_LINES_BY_RANGE, table_of_three, 6, 1, 0), 2);
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_RANGE, table_of_three, 6, 1, 1), 0);
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_RANGE, table_of_three, 6, 1, 2), 3);
}

TEST(script_line, is_the_first_one_before_the_first_instruction)
{
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_ENTRY, table, sizeof(table), 7, -1), 7);
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_ENTRY, table, sizeof(table), 7, INT64_MIN),
			 7);
}

TEST(script_line, goes_back_too)
{
	/* two units without columns, 1 line back; then one without a line */
	static const uint8_t back[] = {0x80 | 13 << 3 | 1, 3, 0x80 | 15 << 3};

	assert_int_equal(cpython_line(CPYTHON_LINES_BY_ENTRY, back, sizeof(back), 10, 0), 9);
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_ENTRY, back, sizeof(back), 10, 1), 9);
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_ENTRY, back, sizeof(back), 10, 2), 0);
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_ENTRY, back, sizeof(back), 1, 0), 0);
}

TEST(script_line, ends_in_any_bytes)
{
	static const uint8_t endless[] = {0x80 | 14 << 3, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f};

	assert_int_equal(cpython_line(CPYTHON_LINES_BY_ENTRY, endless, sizeof(endless), 1, 0), 0);
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_ENTRY, endless, 1, 1, 0), 1);
	assert_int_equal(cpython_line(CPYTHON_LINES_BY_ENTRY, NULL, 0, 1, 5), 0);
}
