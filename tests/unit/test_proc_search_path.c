// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "proc/exec_failure.h"
#include "proc/search_path.h"
#include "tests/unit/unit.h"

static void assert_found(const char *directories, const char *program, const char *expected)
{
	struct buf path = {0};

	buf_append_str(&path, "former");
	assert_true(search_path_find(directories, program, &path));
	assert_string_equal(buf_str(&path), expected);
	buf_release(&path);
}

TEST(search_path, the_first_directory_wins)
{
	struct buf path = {0};

	assert_found("/nowhere:/bin:/usr/bin", "sh", "/bin/sh");
	assert_found("/:/bin", "sh", "/bin/sh");
	assert_false(search_path_find("/nowhere:/usr/share", "sh", &path));
	buf_release(&path);
}

TEST(search_path, an_empty_directory_is_the_current_one)
{
	assert_int_equal(chdir("/bin"), 0);
	assert_found("", "sh", "./sh");
	assert_found("/nowhere::/usr/bin", "sh", "./sh");
	assert_found("/nowhere:", "sh", "./sh");
}

TEST(search_path, lacks_what_is_nowhere)
{
	struct buf closed = {0};

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

TEST(exec_failure, an_interpreter_that_is_not_there)
{
	char *script = make_script("#! /nowhere/python -u\n", 0755);
	struct err err = ERR_INIT;

	assert_int_equal(exec_failure_foresee("/bin", script), ENOENT);
	assert_int_equal(exec_failure_explain("/bin", script, ENOENT, &err), ERR_NOT_FOUND);
	assert_string_equal(err.hint,
			    "the file exists, but its interpreter '/nowhere/python' does not");
	remove_script(script);
}

TEST(exec_failure, a_file_that_is_not_executable)
{
	char *script = make_script("#!/bin/sh\n", 0644);
	struct err err = ERR_INIT;

	assert_int_equal(exec_failure_foresee("/bin", script), EACCES);
	assert_int_equal(exec_failure_explain("/bin", script, EACCES, &err), ERR_SYS);
	assert_non_null(strstr(err.hint, "not executable"));
	remove_script(script);
}

TEST(exec_failure, what_can_be_executed_is_foreseen_to_be)
{
	assert_int_equal(exec_failure_foresee("/nowhere:/bin", "sh"), 0);
	assert_int_equal(exec_failure_foresee("/nowhere", "sh"), ENOENT);
	assert_int_equal(exec_failure_foresee("", "/bin/sh"), 0);
	assert_int_equal(exec_refuse_32_bit("/bin", "no such program", NULL), 0);
}

TEST(exec_failure, a_number_is_taken_for_a_process)
{
	struct err err = ERR_INIT;

	assert_int_equal(exec_failure_explain("/bin", "1234", ENOENT, &err), ERR_NOT_FOUND);
	assert_string_equal(err.hint, "to record process 1234, use -p 1234");
}
