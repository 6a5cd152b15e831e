// SPDX-License-Identifier: GPL-2.0-or-later
/* Which transfers may a stop cut short? Of descriptors of our own. */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

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
