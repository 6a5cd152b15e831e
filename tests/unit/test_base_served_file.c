// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/served_file.h"
#include "tests/unit/unit.h"

/* Faults of children that have ended: an errand's child has some. */
static long faults_of_children(void)
{
	struct rusage used;

	assert_int_equal(getrusage(RUSAGE_CHILDREN, &used), 0);
	return used.ru_minflt;
}

/* As the files of mappings are opened. */
static int open_as_path(int fd)
{
	char link[32];
	int path_fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	path_fd = open(link, O_PATH | O_CLOEXEC);
	assert_true(path_fd >= 0);
	return path_fd;
}

/* Programs that are probed have one each, and no mount table lists their file system. */
TEST(served_file, of_memory_is_opened_without_an_errand)
{
	long before = faults_of_children();
	cleanup_close int fd = memfd_create("test", MFD_CLOEXEC);
	cleanup_close int path_fd = -1;
	cleanup_close int again = -1;
	struct stat found;
	char byte;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	path_fd = open_as_path(fd);
	assert_false(served_file_is(path_fd));
	again = served_file_open(path_fd, &found);
	assert_true(again >= 0);
	assert_int_equal(found.st_size, 1);
	assert_int_equal(pread(again, &byte, 1, 0), 1);
	assert_int_equal(faults_of_children(), before);
}

/* The kernel's own file of a pipe is mounted nowhere either, and is no memory. */
TEST(served_file, that_is_mounted_nowhere_is_looked_at_by_an_errand)
{
	long before = faults_of_children();
	int pipe_fds[2];

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_false(served_file_is(pipe_fds[0]));
	assert_true(faults_of_children() > before);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}
