// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "proc/exec_failure.h"
#include "proc/search_path.h"

static void assert_found(const char *directories, const char *program, const char *expected)
{
	struct buf path = {0};

	buf_append_str(&path, "former");
	assert_true(search_path_find(directories, program, &path));
	assert_string_equal(buf_str(&path), expected);
	buf_release(&path);
}

static void test_search_path__the_first_directory_wins(void **state)
{
	struct buf path = {0};

	(void)state;
	assert_found("/nowhere:/bin:/usr/bin", "sh", "/bin/sh");
	assert_found("/:/bin", "sh", "/bin/sh");
	assert_false(search_path_find("/nowhere:/usr/share", "sh", &path));
	buf_release(&path);
}

static void test_search_path__an_empty_directory_is_the_current_one(void **state)
{
	(void)state;
	assert_int_equal(chdir("/bin"), 0);
	assert_found("", "sh", "./sh");
	assert_found("/nowhere::/usr/bin", "sh", "./sh");
	assert_found("/nowhere:", "sh", "./sh");
}

static void test_search_path__lacks_what_is_nowhere(void **state)
{
	struct buf closed = {0};

	(void)state;
	buf_append_str(&closed, "former");
	assert_true(search_path_lacks("/nowhere:/bin", "no such program", &closed));
	assert_string_equal(buf_str(&closed), "");
	assert_false(search_path_lacks("/nowhere:/bin", "sh", &closed));
	buf_release(&closed);
}

/* A script in a directory of its own, whose path is the caller's. */
static char *make_script(const char *first_line, mode_t mode)
{
	char *directory = xstrdup("/tmp/profc-unit-XXXXXX");
	char *path;
	FILE *file;

	assert_non_null(mkdtemp(directory));
	path = xasprintf("%s/script", directory);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(first_line, file);
	fclose(file);
	assert_int_equal(chmod(path, mode), 0);
	free(directory);
	return path;
}

static void remove_script(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	free(path);
}

static void test_exec_failure__an_interpreter_that_is_not_there(void **state)
{
	char *script = make_script("#! /nowhere/python -u\n", 0755);
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(exec_failure_foresee("/bin", script), ENOENT);
	assert_int_equal(exec_failure_explain("/bin", script, ENOENT, &err), ERR_NOT_FOUND);
	assert_string_equal(err.hint,
			    "the file exists, but its interpreter '/nowhere/python' does not");
	remove_script(script);
}

static void test_exec_failure__a_file_that_is_not_executable(void **state)
{
	char *script = make_script("#!/bin/sh\n", 0644);
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(exec_failure_foresee("/bin", script), EACCES);
	assert_int_equal(exec_failure_explain("/bin", script, EACCES, &err), ERR_SYS);
	assert_non_null(strstr(err.hint, "not executable"));
	remove_script(script);
}

static void test_exec_failure__what_can_be_executed_is_foreseen_to_be(void **state)
{
	(void)state;
	assert_int_equal(exec_failure_foresee("/nowhere:/bin", "sh"), 0);
	assert_int_equal(exec_failure_foresee("/nowhere", "sh"), ENOENT);
	assert_int_equal(exec_failure_foresee("", "/bin/sh"), 0);
	assert_int_equal(exec_refuse_32_bit("/bin", "no such program", NULL), 0);
}

static void test_exec_failure__a_number_is_taken_for_a_process(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(exec_failure_explain("/bin", "1234", ENOENT, &err), ERR_NOT_FOUND);
	assert_string_equal(err.hint, "to record process 1234, use -p 1234");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_search_path__the_first_directory_wins),
		cmocka_unit_test(test_search_path__an_empty_directory_is_the_current_one),
		cmocka_unit_test(test_search_path__lacks_what_is_nowhere),
		cmocka_unit_test(test_exec_failure__an_interpreter_that_is_not_there),
		cmocka_unit_test(test_exec_failure__a_file_that_is_not_executable),
		cmocka_unit_test(test_exec_failure__what_can_be_executed_is_foreseen_to_be),
		cmocka_unit_test(test_exec_failure__a_number_is_taken_for_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
