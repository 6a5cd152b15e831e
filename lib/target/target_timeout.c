// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"
#include "target/memory.h"
#include "target/target_priv.h"
#include "target/target_regs.h"

/*
 * A call that is taken up again begins its timeout anew: if it is broken off often enough, as by
 * signals that nobody catches, its time is never up. So such a call is followed by system call
 * stops until it returns, and if it is broken off once more when its time is up, it is given the
 * result of that.
 */

struct timed_call {
	long nr;
	unsigned int timeout; /* which argument; a pointer, or milliseconds */
	bool is_ms;
	int result; /* when the time is up; sets that a select leaves empty are not in here */
};

static const struct timed_call timed_calls[] = {
	{SYS_epoll_pwait, 3, true, 0},	     {SYS_epoll_pwait2, 3, false, 0},
	{SYS_semtimedop, 3, false, -EAGAIN}, {SYS_rt_sigtimedwait, 2, false, -EAGAIN},
	{SYS_io_getevents, 4, false, 0},
#ifdef SYS_epoll_wait
	{SYS_epoll_wait, 3, true, 0},
#endif
};

static const struct timed_call *find_call(int64_t nr)
{
	for (size_t i = 0; i < sizeof(timed_calls) / sizeof(timed_calls[0]); i++) {
		if (timed_calls[i].nr == nr)
			return &timed_calls[i];
	}
	return NULL;
}

/* More is as good as for ever. */
#define LONGEST_S ((uint64_t)1 << 30)

/* False if there is none. */
static bool read_timeout(pid_t tid, const struct timed_call *call, uint64_t argument,
			 uint64_t *timeout_ns)
{
	struct timespec timeout;

	if (call->is_ms) {
		*timeout_ns = (uint32_t)argument * NS_PER_MS;
		return (int)argument >= 0;
	}
	if (!argument ||
	    target_read_memory(tid, argument, &timeout, sizeof(timeout)) != sizeof(timeout) ||
	    (uint64_t)timeout.tv_sec > LONGEST_S || (uint64_t)timeout.tv_nsec >= NS_PER_SEC)
		return false;
	*timeout_ns = (uint64_t)timeout.tv_sec * NS_PER_SEC + (uint64_t)timeout.tv_nsec;
	return true;
}

bool target_time_is_up(struct tracee *tracee, struct machine_regs *regs)
{
	struct tracee_private *priv = tracee->priv;
	const struct timed_call *call;
	struct proc_syscall syscall;

	if (priv->follow != FOLLOW_BROKEN || clock_monotonic_ns() < priv->time_is_up_ns ||
	    !machine_syscall(regs, &syscall))
		return false;
	call = find_call(syscall.nr);
	priv->follow = FOLLOW_NONE;
	if (call)
		machine_end_call(regs, call->result);
	return call;
}

void target_follow_call(struct tracee *tracee, const struct machine_regs *regs)
{
	struct tracee_private *priv = tracee->priv;
	const struct timed_call *call;
	struct proc_syscall syscall;
	uint64_t timeout_ns;
	bool is_same = priv->follow == FOLLOW_BROKEN;

	priv->follow = FOLLOW_NONE;
	if (!machine_syscall(regs, &syscall))
		return;
	call = find_call(syscall.nr);
	if (!call || !read_timeout(tracee->tid, call, syscall.args[call->timeout], &timeout_ns))
		return;
	if (!is_same)
		priv->time_is_up_ns = clock_monotonic_ns() + timeout_ns;
	priv->follow = FOLLOW_ENTRY;
}

/*
 * Here, at the exit, no repair is possible: should another thread take the signal first, nobody
 * would restart the call. Where signals are looked for there is always one more stop now.
 */
static void broken_again(struct tracee *tracee)
{
	tracee->priv->follow = FOLLOW_BROKEN;
	ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL);
}

void target_followed_stop(struct tracee *tracee)
{
	struct tracee_private *priv = tracee->priv;
	struct machine_regs regs;
	bool has_regs = target_get_regs(tracee->tid, &regs);

	if (priv->follow == FOLLOW_ENTRY && has_regs && machine_enters(&regs, &priv->broken))
		priv->follow = FOLLOW_EXIT;
	else if (priv->follow == FOLLOW_EXIT && has_regs &&
		 machine_broken_call(&regs) == MACHINE_CALL_EINTR)
		broken_again(tracee);
	else
		priv->follow = FOLLOW_NONE;
}
