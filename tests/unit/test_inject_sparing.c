// SPDX-License-Identifier: GPL-2.0-or-later
/* Which waits may restart with all of their time-out. */
#include <sys/syscall.h>

#include "inject/sparing.h"
#include "proc/task.h"
#include "tests/unit/unit.h"

static bool may_begin_again(long nr, const uint64_t args[6])
{
	struct proc_syscall syscall = {.kind = PROC_SYSCALL_INSIDE, .nr = nr};

	memcpy(syscall.args, args, sizeof(syscall.args));
	return sparing_may_begin_again(&syscall);
}

TEST(sparing, finds_waits_that_may_restart)
{
	const uint64_t none[6] = {0}, negative[6] = {[3] = (uint32_t)-1};
	const uint64_t timed[6] = {[2] = 0x1000, [3] = 0x1000, [4] = 0x1000};
	const struct proc_syscall running = {.kind = PROC_SYSCALL_RUNNING};

	assert_true(may_begin_again(SYS_epoll_pwait, timed));
	assert_false(may_begin_again(SYS_epoll_pwait, negative));
	assert_true(may_begin_again(SYS_semtimedop, timed));
	assert_false(may_begin_again(SYS_semtimedop, none));
	assert_true(may_begin_again(SYS_ppoll, timed));
	assert_false(may_begin_again(SYS_ppoll, none));
	assert_true(may_begin_again(SYS_pselect6, timed));
	assert_true(may_begin_again(SYS_recvfrom, none)); /* SO_RCVTIMEO */
	assert_true(may_begin_again(SYS_accept4, none));
	assert_true(may_begin_again(SYS_io_getevents, none));
	assert_true(may_begin_again(100000, none)); /* not known */
	assert_false(may_begin_again(SYS_futex, timed));
	assert_false(may_begin_again(SYS_clock_nanosleep, timed));
	assert_false(may_begin_again(SYS_wait4, timed));
	assert_false(sparing_may_begin_again(&running));
}
