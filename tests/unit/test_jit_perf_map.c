// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "jit/jit_code.h"
#include "jit/perf_map.h"

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

static void test_jit_perf_map__lines_name_their_ranges(void **state)
{
	struct jit_code code = parse("1000 10 LazyCompile:*fib /tmp/a b.js:1\n"
				     "0x2000 0X1f py::<module>:/x.py\r\n");

	(void)state;
	assert_string_equal(name_at(&code, 0), "LazyCompile:*fib /tmp/a b.js:1");
	assert_string_equal(name_at(&code, 1), "LazyCompile:*fib /tmp/a b.js:1");
	assert_string_equal(name_at(&code, 2), "");
	assert_string_equal(name_at(&code, 3), "py::<module>:/x.py");
	jit_code_release(&code);
}

static void test_jit_perf_map__the_last_of_overlapping_lines_counts(void **state)
{
	struct jit_code code = parse("1000 2000 old\n1008 8 new\n");

	(void)state;
	assert_string_equal(name_at(&code, 0), "old");
	assert_string_equal(name_at(&code, 1), "new");
	assert_string_equal(name_at(&code, 2), "old");
	jit_code_release(&code);
}

static void test_jit_perf_map__damaged_lines_are_passed_over(void **state)
{
	struct jit_code code =
		parse("\n1000\n1000 10\n1000 10 \nzz 10 name\n1000 zz name\n1000  10 name\n"
		      "ffffffffffffffff 10 wraps\n11111111111111111 10 long\n1010 1 good\n");

	(void)state;
	assert_string_equal(name_at(&code, 0), "");
	assert_string_equal(name_at(&code, 2), "good");
	assert_int_equal(code.nr, 1);
	jit_code_release(&code);
}

static void test_jit_perf_map__a_line_without_its_end_counts_at_the_end_only(void **state)
{
	static const char text[] = "1000 10 whole\n2000 10 ha";
	struct jit_code code = {0};

	(void)state;
	assert_int_equal(perf_map_parse(text, strlen(text), false, &code),
			 strlen("1000 10 whole\n"));
	assert_int_equal(code.nr, 1);
	assert_int_equal(perf_map_parse("2000 10 half", 12, true, &code), 12);
	assert_string_equal(name_at(&code, 3), "half");
	jit_code_release(&code);
}

static void test_jit_code__the_ranges_of_before_are_left_out(void **state)
{
	struct jit_code code = parse("1000 10 first\n2000 10 second\n");
	uint32_t found[ARRAY_SIZE(addresses)] = {7, 7, 7, 7};

	(void)state;
	jit_code_find(&code, 1, addresses, found, ARRAY_SIZE(addresses));
	assert_int_equal(found[0], 7);
	assert_int_equal(found[3], 2);
	jit_code_release(&code);
}

static void test_jit_code__there_is_a_bound(void **state)
{
	static char name[1 << 20];
	struct jit_code code = {0};
	size_t nr = 0;

	(void)state;
	memset(name, 'q', sizeof(name));
	while (jit_code_add(&code, 0x1000, 16, name, sizeof(name)))
		nr++;
	assert_true(code.is_full);
	assert_true(nr > 16 && nr * sizeof(name) <= JIT_CODE_MAX_BYTES);
	jit_code_release(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jit_perf_map__lines_name_their_ranges),
		cmocka_unit_test(test_jit_perf_map__the_last_of_overlapping_lines_counts),
		cmocka_unit_test(test_jit_perf_map__damaged_lines_are_passed_over),
		cmocka_unit_test(test_jit_perf_map__a_line_without_its_end_counts_at_the_end_only),
		cmocka_unit_test(test_jit_code__the_ranges_of_before_are_left_out),
		cmocka_unit_test(test_jit_code__there_is_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
