// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "jit/jit_code.h"
#include "jit/perf_map.h"
#include "tests/unit/unit.h"

static const uint64_t addresses[] = {0x1000, 0x100f, 0x1010, 0x2008};

/* The code that a map tells of, as if nothing followed it. */
static struct jit_code parse(const char *text)
{
	struct jit_code code = {0};

	assert_int_equal(perf_map_parse(text, strlen(text), true, &code), strlen(text));
	return code;
}

static const char *name_at(const struct jit_code *code, size_t index)
{
	uint32_t found[ARRAY_SIZE(addresses)] = {0};

	jit_code_find(code, 0, addresses, found, ARRAY_SIZE(addresses));
	return found[index] ? jit_code_name(code, &code->ranges[found[index] - 1]) : "";
}

TEST(jit_perf_map, lines_name_their_ranges)
{
	struct jit_code code = parse("1000 10 LazyCompile:*fib /tmp/a b.js:1\n"
				     "0x2000 0X1f py::<module>:/x.py\r\n");

	assert_string_equal(name_at(&code, 0), "LazyCompile:*fib /tmp/a b.js:1");
	assert_string_equal(name_at(&code, 1), "LazyCompile:*fib /tmp/a b.js:1");
	assert_string_equal(name_at(&code, 2), "");
	assert_string_equal(name_at(&code, 3), "py::<module>:/x.py");
	jit_code_release(&code);
}

TEST(jit_perf_map, the_last_of_overlapping_lines_counts)
{
	struct jit_code code = parse("1000 2000 old\n1008 8 new\n");

	assert_string_equal(name_at(&code, 0), "old");
	assert_string_equal(name_at(&code, 1), "new");
	assert_string_equal(name_at(&code, 2), "old");
	jit_code_release(&code);
}

TEST(jit_perf_map, damaged_lines_are_passed_over)
{
	struct jit_code code =
		parse("\n1000\n1000 10\n1000 10 \nzz 10 name\n1000 zz name\n1000  10 name\n"
		      "ffffffffffffffff 10 wraps\n11111111111111111 10 long\n1010 1 good\n");

	assert_string_equal(name_at(&code, 0), "");
	assert_string_equal(name_at(&code, 2), "good");
	assert_int_equal(code.nr, 1);
	jit_code_release(&code);
}

TEST(jit_perf_map, a_line_without_its_end_counts_at_the_end_only)
{
	static const char text[] = "1000 10 whole\n2000 10 ha";
	struct jit_code code = {0};

	assert_int_equal(perf_map_parse(text, strlen(text), false, &code),
			 strlen("1000 10 whole\n"));
	assert_int_equal(code.nr, 1);
	assert_int_equal(perf_map_parse("2000 10 half", 12, true, &code), 12);
	assert_string_equal(name_at(&code, 3), "half");
	jit_code_release(&code);
}

TEST(jit_code, the_ranges_of_before_are_left_out)
{
	struct jit_code code = parse("1000 10 first\n2000 10 second\n");
	uint32_t found[ARRAY_SIZE(addresses)] = {7, 7, 7, 7};

	jit_code_find(&code, 1, addresses, found, ARRAY_SIZE(addresses));
	assert_int_equal(found[0], 7);
	assert_int_equal(found[3], 2);
	jit_code_release(&code);
}

TEST(jit_code, there_is_a_bound)
{
	static char name[1 << 20];
	struct jit_code code = {0};
	size_t nr = 0;

	memset(name, 'q', sizeof(name));
	while (jit_code_add(&code, 0x1000, 16, name, sizeof(name)))
		nr++;
	assert_true(code.is_full);
	assert_true(nr > 16 && nr * sizeof(name) <= JIT_CODE_MAX_BYTES);
	jit_code_release(&code);
}
