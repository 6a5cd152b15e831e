// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/nearest.h"

static const char *const commands[] = {"record", "attach", "report", "annotate", "export", "info"};

static const char *nearest(const char *word)
{
	return nearest_word(word, commands, ARRAY_SIZE(commands));
}

static void test_nearest__finds_slips(void **state)
{
	(void)state;
	assert_string_equal(nearest("recrod"), "record");     /* swapped */
	assert_string_equal(nearest("reprt"), "report");      /* missing */
	assert_string_equal(nearest("exporrt"), "export");    /* extra */
	assert_string_equal(nearest("anmotate"), "annotate"); /* wrong */
	assert_string_equal(nearest("rep"), "report");	      /* begun */
	assert_string_equal(nearest("inof"), "info");
}

static void test_nearest__says_nothing_when_far(void **state)
{
	static const char *const top = "top";

	(void)state;
	assert_null(nearest(""));
	assert_null(nearest("x"));
	assert_null(nearest_word("foo", &top, 1)); /* two of three letters are no slips */
	assert_null(nearest("quicksort"));
	assert_null(nearest("a-very-long-word-that-is-longer-than-any-candidate-of-all"));
}

static void test_nearest__prefers_fewer_slips(void **state)
{
	static const char *const words[] = {"--children", "--no-children"};

	(void)state;
	assert_string_equal(nearest_word("--no-childen", words, 2), "--no-children");
	assert_string_equal(nearest_word("--childen", words, 2), "--children");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nearest__finds_slips),
		cmocka_unit_test(test_nearest__says_nothing_when_far),
		cmocka_unit_test(test_nearest__prefers_fewer_slips),
	};

	return cmocka_run_group_tests_name("base/nearest", tests, NULL, NULL);
}
