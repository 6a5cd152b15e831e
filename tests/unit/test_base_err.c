// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void test_err__carries_code_and_words(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(err_set(&err, ERR_LIMIT, "%d of at most %d", 7, 5), ERR_LIMIT);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_int_equal(err.sys_errno, 0);
	assert_string_equal(err.what, "7 of at most 5");
	assert_string_equal(err.hint, "");
}

static void test_err__sys_appends_the_reason_and_keeps_errno(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	errno = ENOENT;
	assert_int_equal(err_sys(&err, "cannot open %s", "it"), ERR_SYS);
	assert_string_equal(err.what, "cannot open it: No such file or directory");
	assert_int_equal(err.sys_errno, ENOENT);
	assert_int_equal(errno, ENOENT);
}

static void test_err__a_new_failure_forgets_the_old_hint(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	err_set(&err, ERR_INVALID, "first");
	err_hint(&err, "do %s", "this");
	assert_string_equal(err.hint, "do this");
	err_set(&err, ERR_INVALID, "second");
	assert_string_equal(err.hint, "");
	err_hint(&err, "or that");
	errno = EIO;
	err_sys(&err, "third");
	assert_string_equal(err.hint, "");
}

static void test_err__prefix_stands_before(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	err_set(&err, ERR_CORRUPT, "bad record");
	err_prefix(&err, "profile %d", 3);
	assert_string_equal(err.what, "profile 3: bad record");
	assert_int_equal(err.code, ERR_CORRUPT);
}

static void test_err__long_words_are_cut(void **state)
{
	struct err err = ERR_INIT;
	char words[2000];

	(void)state;
	memset(words, 'x', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	err_set(&err, ERR_INVALID, "%s", words);
	assert_int_equal(strlen(err.what), sizeof(err.what) - 1);
	err_prefix(&err, "%s", words);
	assert_true(strlen(err.what) < sizeof(err.what));
	errno = EPERM;
	err_sys(&err, "%s", words);
	assert_int_equal(strlen(err.what), sizeof(err.what) - 1);
	err_hint(&err, "%s", words);
	assert_int_equal(strlen(err.hint), sizeof(err.hint) - 1);
}

static void test_err__nobody_listening(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, ERR_GONE, "x"), ERR_GONE);
	assert_int_equal(err_sys(NULL, "x"), ERR_SYS);
	err_hint(NULL, "x");
	err_prefix(NULL, "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_err__carries_code_and_words),
		cmocka_unit_test(test_err__sys_appends_the_reason_and_keeps_errno),
		cmocka_unit_test(test_err__a_new_failure_forgets_the_old_hint),
		cmocka_unit_test(test_err__prefix_stands_before),
		cmocka_unit_test(test_err__long_words_are_cut),
		cmocka_unit_test(test_err__nobody_listening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
