// SPDX-License-Identifier: GPL-2.0-or-later
/* Which transfers may a stop cut short? Of descriptors of our own. */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "proc/task.h"
#include "tests/unit/unit.h"
#include "tracee/transfer.h"

static struct proc_syscall call_of(int64_t nr, int fd)
{
	return (struct proc_syscall){.kind = PROC_SYSCALL_INSIDE,
				     .nr = nr,
				     .args = {(uint64_t)fd, 0, 1 << 20, 1 << 20, 1 << 20}};
}

static bool never_waits(int64_t nr, int fd)
{
	struct proc_syscall call = call_of(nr, fd);

	assert_true(transfer_is_made(getpid(), &call));
	return transfer_never_waits(getpid(), &call);
}

TEST(tracee_transfer, that_waits_for_nothing_is_not_cut)
{
	static const int flags[] = {0, O_NONBLOCK};
	int ends[2], sockets[2];

	for (int i = 0; i < 2; i++) {
		bool is_patient = flags[i] == 0;

		assert_int_equal(pipe2(ends, flags[i]), 0);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
		assert_int_equal(fcntl(sockets[0], F_SETFL, flags[i]), 0);
		assert_int_equal(never_waits(SYS_write, ends[1]), !is_patient);
		assert_int_equal(never_waits(SYS_writev, sockets[0]), !is_patient);
		assert_int_equal(never_waits(SYS_sendmsg, sockets[0]), !is_patient);
		assert_int_equal(never_waits(SYS_read, ends[0]), !is_patient);
		/* The flag is that of one end. */
		assert_false(never_waits(SYS_write, sockets[1]));
		close(ends[0]);
		close(ends[1]);
		close(sockets[0]);
		close(sockets[1]);
	}
}

TEST(tracee_transfer, of_a_device_or_by_splice_is_cut_in_any_case)
{
	int terminal = open("/dev/ptmx", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	int ends[2];

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_false(never_waits(SYS_splice, ends[0]));
	assert_false(never_waits(SYS_sendfile, ends[1]));
	assert_true(terminal >= 0);
	assert_false(never_waits(SYS_write, terminal));
	close(terminal);
	close(ends[0]);
	close(ends[1]);
	assert_false(never_waits(SYS_write, ends[1])); /* as nothing is known of it */
}

static bool is_of_file(int64_t nr, int fd)
{
	struct proc_syscall call = call_of(nr, fd);

	return transfer_is_of_file(getpid(), &call);
}

/* Is it known of this file system? */
static bool is_of_known(int fd)
{
	static const long magics[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
				      TMPFS_MAGIC};
	struct statfs system;

	assert_int_equal(fstatfs(fd, &system), 0);
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
		if (system.f_type == magics[i])
			return true;
	return false;
}

TEST(tracee_transfer, of_a_file_is_not_cut)
{
	static const int64_t at_places[] = {SYS_pread64,  SYS_preadv,  SYS_preadv2,
					    SYS_pwrite64, SYS_pwritev, SYS_pwritev2};
	char directory[] = "/tmp/profc-test-XXXXXX", path[64];
	int file, pipe_with_name, process = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	int device = open("/dev/zero", O_RDONLY | O_CLOEXEC), ends[2];

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/file", directory);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	unlink(path);
	assert_int_equal(is_of_file(SYS_read, file), is_of_known(file));
	assert_int_equal(is_of_file(SYS_write, file), is_of_known(file));
	for (size_t i = 0; i < ARRAY_SIZE(at_places); i++)
		assert_int_equal(is_of_file(at_places[i], file), is_of_known(file));
	assert_false(is_of_file(SYS_sendfile, file)); /* where to is not asked */
	close(file);
	assert_false(is_of_file(SYS_read, file));
	/* It has a name there, and waits all the same. */
	assert_int_equal(mkfifo(path, 0600), 0);
	pipe_with_name = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_false(is_of_file(SYS_read, pipe_with_name));
	assert_false(is_of_file(SYS_read, ends[0]));
	assert_false(is_of_file(SYS_read, process));
	assert_false(is_of_file(SYS_read, device));
	close(pipe_with_name);
	close(ends[0]);
	close(ends[1]);
	close(process);
	close(device);
	unlink(path);
	rmdir(directory);
}

/* Its fdinfo has a line for each that is awaited. */
TEST(tracee_transfer, of_a_descriptor_with_much_to_tell)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC), events[500];

	assert_true(epoll >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		events[i] = eventfd(0, EFD_CLOEXEC);
		assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, events[i], &event), 0);
	}
	assert_false(is_of_file(SYS_read, epoll));
	assert_false(never_waits(SYS_read, epoll));
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		close(events[i]);
	close(epoll);
}

TEST(tracee_transfer, of_another_file_that_takes_its_place)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), ends[2];

	assert_true(file >= 0);
	assert_int_equal(is_of_file(SYS_read, file), is_of_known(file));
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(dup2(ends[0], file), file);
	assert_false(is_of_file(SYS_read, file));
	close(file);
	close(ends[0]);
	close(ends[1]);
}
