// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which descriptors of a process are accepted as the memory of its probes, and how they are sealed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/err.h"
#include "inject/memory_file.h"
#include "tests/unit/unit.h"

#define NAME	 "profc-trial-1-2-3"
#define NR_BYTES 65536

static int new_memory(void)
{
	int fd = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	return fd;
}

static int take(int fd, struct err *err)
{
	int file = -1;
	int status = memory_file_take(&file, getpid(), fd, NAME, NR_BYTES, err);

	if (status == 0)
		return file;
	assert_int_equal(file, -1);
	return status;
}

/* It is refused for this reason, and unchanged. */
static void assert_refused(int fd, const char *why)
{
	struct err err = ERR_INIT;
	struct stat before, after;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &before), 0);
	assert_int_equal(take(fd, &err), ERR_CORRUPT);
	assert_non_null(strstr(err.what, why));
	assert_int_equal(fstat(fd, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	close(fd);
}

TEST(memory_file, is_sized_for_good)
{
	struct err err = ERR_INIT;
	int fd = new_memory();
	int file = take(fd, &err);
	struct stat found;
	volatile char *bytes;

	assert_true(file >= 0);
	assert_true(fcntl(file, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fstat(fd, &found), 0);
	assert_int_equal(found.st_size, NR_BYTES);
	assert_int_equal(found.st_blocks, 0);
	bytes = mmap(NULL, NR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_true(bytes != MAP_FAILED);
	/* By any holder of the other descriptor. */
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 2 * NR_BYTES), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	bytes[NR_BYTES - 1] = 1;
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, NR_BYTES), 0);
	assert_int_equal(bytes[NR_BYTES - 1], 0); /* and no SIGBUS */
	munmap((void *)(uintptr_t)bytes, NR_BYTES);
	close(file);
	close(fd);
}

/* From the second byte on. */
#define GAP_END 100

/* Fills the file with bytes, but for a gap. */
static int take_filled(int fd, const uint8_t *bytes, struct err *err)
{
	struct file_pieces pieces = {.nr = 0};
	int file = -1, status;

	file_pieces_add(&pieces, 0, bytes, 1);
	file_pieces_add(&pieces, GAP_END, bytes + GAP_END, NR_BYTES - GAP_END);
	status = memory_file_take_filled(&file, getpid(), fd, NAME, &pieces, err);

	return status == 0 ? file : status;
}

TEST(memory_file, is_filled_for_good)
{
	static uint8_t bytes[NR_BYTES];
	struct err err = ERR_INIT;
	int fd = new_memory();
	uint8_t *own;
	int file;

	memset(bytes, 7, sizeof(bytes));
	file = take_filled(fd, bytes, &err);
	memset(bytes + 1, 0, GAP_END - 1);
	assert_true(file >= 0);
	/* By any holder of either descriptor. */
	for (int i = 0; i < 2; i++) {
		int of = i ? file : fd;

		assert_int_equal(pwrite(of, "spoil", 5, 0), -1);
		assert_int_equal(ftruncate(of, 0), -1);
		assert_int_equal(
			fallocate(of, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, NR_BYTES), -1);
		assert_ptr_equal(mmap(NULL, NR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, of, 0),
				 MAP_FAILED);
	}
	own = mmap(NULL, NR_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(own, MAP_FAILED);
	assert_memory_equal(own, bytes, NR_BYTES);
	munmap(own, NR_BYTES);
	close(file);
	close(fd);
}

TEST(memory_file, what_is_left_keeps_its_place)
{
	static uint8_t bytes[NR_BYTES], found[NR_BYTES];
	struct file_pieces pieces = {.nr = 0};
	int fd = new_memory(), file = -1;

	memset(bytes, 7, sizeof(bytes));
	file_pieces_add(&pieces, 0, bytes, 1);
	file_pieces_leave(&pieces, GAP_END);
	file_pieces_add(&pieces, GAP_END, bytes + GAP_END, NR_BYTES - GAP_END);
	assert_int_equal(memory_file_take_filled(&file, getpid(), fd, NAME, &pieces, NULL), 0);
	assert_int_equal(pwrite(fd, "spoil", 5, 1), -1);
	memset(bytes + 1, 0, GAP_END - 1);
	assert_int_equal(pread(file, found, NR_BYTES, 0), NR_BYTES);
	assert_memory_equal(found, bytes, NR_BYTES);
	close(file);
	close(fd);
}

/* By another process that had it before us. */
TEST(memory_file, that_is_mapped_is_refused)
{
	static uint8_t bytes[NR_BYTES];
	struct err err = ERR_INIT;
	int fd = new_memory();
	void *at = mmap(NULL, NR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(take_filled(fd, bytes, &err), ERR_CORRUPT);
	assert_non_null(strstr(err.what, "others can write to it"));
	munmap(at, NR_BYTES);
	close(fd);
}

TEST(memory_file, other_files_are_left_alone)
{
	char path[] = "/tmp/profc-test-XXXXXX", shared[] = "/dev/shm/profc-test-XXXXXX";
	int file = mkstemp(path), in_memory = mkstemp(shared);
	struct statfs filesystem;
	struct err err = ERR_INIT;
	const char *why;
	int fds[2];

	assert_true(file >= 0);
	assert_int_equal(fstatfs(file, &filesystem), 0);
	why = filesystem.f_type == TMPFS_MAGIC ? "" : "not a file in memory";
	assert_int_equal(write(file, "of root", 7), 7);
	assert_refused(open(path, O_RDWR), why);
	assert_refused(open(path, O_PATH), "not open for reading and writing");
	unlink(path);
	assert_refused(file, why);
	if (in_memory >= 0) { /* on a tmpfs, mostly */
		assert_refused(dup(in_memory), "");
		unlink(shared);
		assert_refused(in_memory, "");
	}
	assert_int_equal(pipe(fds), 0);
	assert_refused(fds[0], "not open for reading and writing");
	close(fds[1]);
	assert_refused(open("/dev/null", O_RDWR), "not a file in memory");
	assert_int_equal(take(NR_BYTES, &err), ERR_CORRUPT); /* no such descriptor */
	assert_non_null(strstr(err.what, "closed"));
	assert_int_equal(take(-EBADF, &err), ERR_CORRUPT);
}

static int reopened(int fd, int flags)
{
	char link[32];
	int again;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	again = open(link, flags);
	close(fd);
	return again;
}

TEST(memory_file, other_memory_is_left_alone)
{
	int fd = new_memory();

	assert_int_equal(ftruncate(fd, NR_BYTES), 0);
	assert_refused(fd, "not empty");
	fd = new_memory();
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	assert_refused(fd, "sealed");
	assert_refused(memfd_create(NAME, 0), "sealed");
	assert_refused(memfd_create(NAME "4", MFD_ALLOW_SEALING), "another name");
	assert_refused(reopened(new_memory(), O_RDONLY), "not open for reading and writing");
	assert_refused(reopened(new_memory(), O_PATH), "not open for reading and writing");
	fd = memfd_create(NAME, MFD_ALLOW_SEALING | MFD_HUGETLB);
	if (fd >= 0) /* its pages may be missing, and reading one would kill us */
		assert_refused(fd, "not a file in memory");
}

TEST(memory_file, of_a_process_that_is_gone)
{
	struct err err = ERR_INIT;
	int file;

	assert_int_equal(memory_file_take(&file, INT_MAX, 0, NAME, NR_BYTES, &err), ERR_GONE);
}
