// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holding/awaited.h"
#include "proc/task.h"
#include "tests/unit/unit.h"

static enum awaited_from from(int64_t nr, int fd)
{
	const struct proc_syscall call = {
		.kind = PROC_SYSCALL_INSIDE, .nr = nr, .args = {(uint64_t)fd}};
	struct awaited awaited = {.pid = getpid()};
	enum awaited_from first = awaited_from(&awaited, &call);

	/* It is remembered. */
	assert_int_equal(awaited_from(&awaited, &call), first);
	awaited_release(&awaited);
	return first;
}

TEST(awaited, threads_and_timers)
{
	assert_int_equal(from(SYS_futex, 0), AWAITED_INSIDE);
	assert_int_equal(from(SYS_wait4, 0), AWAITED_INSIDE);
	assert_int_equal(from(SYS_clock_nanosleep, 0), AWAITED_OUTSIDE);
	assert_int_equal(from(SYS_epoll_pwait, 0), AWAITED_UNKNOWN);
	assert_int_equal(from(SYS_read, -1), AWAITED_UNKNOWN);
}

TEST(awaited, descriptors_of_this_process)
{
	int pipes[2], sockets[2], event = eventfd(0, EFD_CLOEXEC);

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	assert_int_equal(from(SYS_read, event), AWAITED_INSIDE);
	assert_int_equal(from(SYS_read, pipes[0]), AWAITED_INSIDE);
	assert_int_equal(from(SYS_write, pipes[1]), AWAITED_INSIDE);
	assert_int_equal(from(SYS_recvfrom, sockets[0]), AWAITED_INSIDE);
	close(pipes[1]);
	close(sockets[1]);
	assert_int_equal(from(SYS_read, pipes[0]), AWAITED_UNKNOWN);
	assert_int_equal(from(SYS_recvfrom, sockets[0]), AWAITED_UNKNOWN);
	close(pipes[0]);
	close(sockets[0]);
	close(event);
}

/* A child may write to it, too. */
TEST(awaited, descriptors_that_others_have)
{
	int pipes[2], status;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		close(pipes[0]);
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(from(SYS_read, pipes[0]), AWAITED_UNKNOWN);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(from(SYS_read, pipes[0]), AWAITED_INSIDE);
	close(pipes[0]);
	close(pipes[1]);
}
