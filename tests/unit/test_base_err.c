// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "base/err.h"
#include "tests/unit/unit.h"

TEST(err, carries_code_and_words)
{
	struct err err = ERR_INIT;

	assert_int_equal(err_set(&err, ERR_LIMIT, "%d of at most %d", 7, 5), ERR_LIMIT);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_int_equal(err.sys_errno, 0);
	assert_string_equal(err.what, "7 of at most 5");
	assert_string_equal(err.hint, "");
}

TEST(err, sys_appends_the_reason_and_keeps_errno)
{
	struct err err = ERR_INIT;

	errno = ENOENT;
	assert_int_equal(err_sys(&err, "cannot open %s", "it"), ERR_SYS);
	assert_string_equal(err.what, "cannot open it: No such file or directory");
	assert_int_equal(err.sys_errno, ENOENT);
	assert_int_equal(errno, ENOENT);
}

TEST(err, a_new_failure_forgets_the_old_hint)
{
	struct err err = ERR_INIT;

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

TEST(err, prefix_stands_before)
{
	struct err err = ERR_INIT;

	err_set(&err, ERR_CORRUPT, "bad record");
	err_prefix(&err, "profile %d", 3);
	assert_string_equal(err.what, "profile 3: bad record");
	assert_int_equal(err.code, ERR_CORRUPT);
}

TEST(err, long_words_are_cut)
{
	struct err err = ERR_INIT;
	char words[2000];

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

TEST(err, nobody_listening)
{
	assert_int_equal(err_set(NULL, ERR_GONE, "x"), ERR_GONE);
	assert_int_equal(err_sys(NULL, "x"), ERR_SYS);
	err_hint(NULL, "x");
	err_prefix(NULL, "x");
}
