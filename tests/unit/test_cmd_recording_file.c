// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "cmd/recording_file.h"
#include "tests/unit/unit.h"

/* In a directory of another user, who puts a FIFO in its place once it is written. */
TEST(recording_file, is_read_whatever_has_its_name)
{
	char directory[] = "/tmp/test_recording_file.XXXXXX", text[8] = "";
	cleanup_free char *path = NULL, *moved = NULL;
	struct recording_file file;
	int fd;

	assert_non_null(mkdtemp(directory));
	path = xasprintf("%s/profc.data", directory);
	moved = xasprintf("%s/moved", directory);
	assert_int_equal(recording_file_open(&file, path, NULL), 0);
	assert_int_equal(write(file.fd, "samples", 7), 7);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = recording_file_reopen(&file);
	assert_true(fd >= 0);
	assert_int_equal(recording_file_close(&file, NULL), 0);
	assert_int_equal(read(fd, text, sizeof(text)), 7);
	assert_string_equal(text, "samples");
	close(fd);
	unlink(path);
	unlink(moved);
	rmdir(directory);
}

TEST(recording_file, of_standard_output_is_not_read)
{
	const struct recording_file file = {.fd = STDOUT_FILENO};

	assert_int_equal(recording_file_reopen(&file), -1);
}
