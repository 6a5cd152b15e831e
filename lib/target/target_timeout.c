// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "target/memory.h"
#include "target/socket_timeout.h"
#include "target/target_priv.h"
#include "target/target_regs.h"

/*
 * A call that is taken up again begins its timeout anew, even if it was broken off when its time
 * was up: some ask for signals before they ask for that. If it is broken off often enough, as by
 * signals that nobody catches, its time is never up. So such a call is followed by system call
 * stops until it returns. When its time is up, it is broken off once more and given the result of
 * that.
 */

enum timeout_kind {
	TIMEOUT_TIMESPEC, /* a pointer to it */
	TIMEOUT_MS,
	TIMEOUT_OF_RECEIVING, /* of a socket, which is the argument */
	TIMEOUT_OF_SENDING,
	TIMEOUT_OF_RING, /* behind flags, in an argument that points to more */
};

struct timed_call {
	long nr;
	unsigned int timeout; /* which argument */
	enum timeout_kind kind;
	int result; /* when the time is up */
};

static const struct timed_call timed_calls[] = {
	{SYS_epoll_pwait, 3, TIMEOUT_MS, 0},
	{SYS_epoll_pwait2, 3, TIMEOUT_TIMESPEC, 0},
	{SYS_semtimedop, 3, TIMEOUT_TIMESPEC, -EAGAIN},
	{SYS_rt_sigtimedwait, 2, TIMEOUT_TIMESPEC, -EAGAIN},
	{SYS_io_getevents, 4, TIMEOUT_TIMESPEC, 0},
	{SYS_io_pgetevents, 4, TIMEOUT_TIMESPEC, 0},
	{SYS_ppoll, 2, TIMEOUT_TIMESPEC, 0},
	{SYS_pselect6, 4, TIMEOUT_TIMESPEC, 0},
	{SYS_accept, 0, TIMEOUT_OF_RECEIVING, -EAGAIN},
	{SYS_accept4, 0, TIMEOUT_OF_RECEIVING, -EAGAIN},
	{SYS_recvfrom, 0, TIMEOUT_OF_RECEIVING, -EAGAIN},
	{SYS_recvmsg, 0, TIMEOUT_OF_RECEIVING, -EAGAIN},
	{SYS_recvmmsg, 0, TIMEOUT_OF_RECEIVING, -EAGAIN},
	{SYS_read, 0, TIMEOUT_OF_RECEIVING, -EAGAIN},
	{SYS_readv, 0, TIMEOUT_OF_RECEIVING, -EAGAIN},
	{SYS_connect, 0, TIMEOUT_OF_SENDING, -EAGAIN},
	{SYS_sendto, 0, TIMEOUT_OF_SENDING, -EAGAIN},
	{SYS_sendmsg, 0, TIMEOUT_OF_SENDING, -EAGAIN},
	{SYS_write, 0, TIMEOUT_OF_SENDING, -EAGAIN},
	{SYS_writev, 0, TIMEOUT_OF_SENDING, -EAGAIN},
	{SYS_io_uring_enter, 4, TIMEOUT_OF_RING, -ETIME},
	{SYS_nanosleep, 0, TIMEOUT_TIMESPEC, 0},
	{SYS_clock_nanosleep, 2, TIMEOUT_TIMESPEC, 0},
	{SYS_futex, 3, TIMEOUT_TIMESPEC, -ETIMEDOUT},
#ifdef SYS_epoll_wait
	{SYS_epoll_wait, 3, TIMEOUT_MS, 0},
	{SYS_poll, 2, TIMEOUT_MS, 0},
#endif
};

/* Before they ask whether their time is up; of sockets, some protocols do. */
static const long asking_for_signals_first[] = {
	SYS_io_getevents, SYS_io_pgetevents, SYS_ppoll,	  SYS_pselect6, SYS_accept,  SYS_accept4,
	SYS_connect,	  SYS_recvfrom,	     SYS_recvmsg, SYS_sendto,	SYS_sendmsg,
};

bool target_asks_for_signals_first(int64_t nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(asking_for_signals_first); i++) {
		if (asking_for_signals_first[i] == nr)
			return true;
	}
	return false;
}

static const struct timed_call *find_call(int64_t nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(timed_calls); i++) {
		if (timed_calls[i].nr == nr)
			return &timed_calls[i];
	}
	return NULL;
}

/* What an end by timeout will look like. */
struct end_by_timeout {
	uint64_t timeout_ns;
	int result;
};

/* More is as good as for ever. */
#define LONGEST_S ((uint64_t)1 << 30)

static bool read_timespec(pid_t tid, uint64_t address, uint64_t *timeout_ns)
{
	struct timespec timeout;

	if (!address ||
	    target_read_memory(tid, address, &timeout, sizeof(timeout)) != sizeof(timeout) ||
	    (uint64_t)timeout.tv_sec > LONGEST_S || (uint64_t)timeout.tv_nsec >= NS_PER_SEC)
		return false;
	*timeout_ns = (uint64_t)timeout.tv_sec * NS_PER_SEC + (uint64_t)timeout.tv_nsec;
	return true;
}

/* Flags of io_uring_enter(2), its fourth argument. */
#define ENTER_EXT_ARG	  8
#define ENTER_ABS_TIMER	  32
#define ENTER_EXT_ARG_REG 64

/* What its fifth points to then (struct io_uring_getevents_arg). */
struct ring_wait {
	uint64_t mask;
	uint32_t mask_bytes, least_us;
	uint64_t timeout;
};

bool target_ring_timeout(const struct tracee *tracee, const struct proc_syscall *syscall,
			 uint64_t *timeout_ns)
{
	uint64_t flags = syscall->args[3];
	struct ring_wait wait;

	*timeout_ns = 0;
	if (!(flags & ENTER_EXT_ARG))
		return true;
	if (flags & ENTER_EXT_ARG_REG || syscall->args[5] != sizeof(wait) ||
	    target_read_memory(tracee->tid, syscall->args[4], &wait, sizeof(wait)) !=
		    sizeof(wait) ||
	    wait.least_us)
		return false;
	return !wait.timeout || flags & ENTER_ABS_TIMER ||
	       (read_timespec(tracee->tid, wait.timeout, timeout_ns) && *timeout_ns);
}

/* A connection that is being made goes on behind the call's back; others have not begun. */
static bool ends_connect(int domain, int *result)
{
	if (domain == AF_INET || domain == AF_INET6)
		*result = -EINPROGRESS;
	return domain == AF_INET || domain == AF_INET6 || domain == AF_UNIX;
}

static bool read_socket(const struct tracee *tracee, const struct timed_call *call, uint64_t fd,
			struct end_by_timeout *end)
{
	struct socket_timeout timeout;

	if (!socket_timeout_read(tracee->tgid, (int)fd,
				 call->kind == TIMEOUT_OF_SENDING ? SOCKET_SENDS : SOCKET_RECEIVES,
				 &timeout))
		return false;
	end->timeout_ns = timeout.timeout_ns;
	return call->nr != SYS_connect || ends_connect(timeout.domain, &end->result);
}

/* CPU clocks are not among them. */
static bool is_wall_clock(uint64_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME ||
	       clock == CLOCK_TAI;
}

/*
 * Does its timeout begin anew, and does it do no more when that is over than to return? The sets
 * that a select has to leave empty would have to be written.
 */
static bool can_end(const struct proc_syscall *syscall)
{
	const uint64_t *args = syscall->args;

	switch (syscall->nr) {
	case SYS_pselect6:
		return !args[1] && !args[2] && !args[3];
	/* Broken off, it has written what is left over its timeout, which begins anew with that. */
	case SYS_nanosleep:
		return args[0] != args[1];
	case SYS_clock_nanosleep:
		return is_wall_clock(args[0]) && !(args[1] & TIMER_ABSTIME) && args[2] != args[3];
	case SYS_futex:
		return (args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
	default:
		return true;
	}
}

/* False if the call has no timeout, or one that is not known. */
static bool read_end(const struct tracee *tracee, const struct proc_syscall *syscall,
		     struct end_by_timeout *end)
{
	const struct timed_call *call = find_call(syscall->nr);
	uint64_t argument;

	if (!call || !can_end(syscall))
		return false;
	argument = syscall->args[call->timeout];
	end->result = call->result;
	switch (call->kind) {
	case TIMEOUT_TIMESPEC:
		return read_timespec(tracee->tid, argument, &end->timeout_ns);
	case TIMEOUT_MS:
		end->timeout_ns = (uint32_t)argument * NS_PER_MS;
		return (int)argument >= 0;
	case TIMEOUT_OF_RECEIVING:
	case TIMEOUT_OF_SENDING:
		return read_socket(tracee, call, argument, end);
	case TIMEOUT_OF_RING:
		return target_ring_timeout(tracee, syscall, &end->timeout_ns) && end->timeout_ns;
	}
	return false;
}

/* io_pgetevents(2) returns what has the kernel restart it, with the whole timeout. */
bool target_begins_anew(const struct machine_regs *regs)
{
	struct proc_syscall syscall;

	return machine_broken_call(regs) == MACHINE_CALL_RESTART &&
	       machine_syscall(regs, &syscall) && syscall.nr == SYS_io_pgetevents;
}

bool target_follow_call(struct target *target, struct tracee *tracee, struct machine_regs *regs,
			bool by_signal)
{
	struct tracee_private *priv = tracee->priv;
	struct end_by_timeout end;
	struct proc_syscall syscall;
	bool is_same = priv->follow != FOLLOW_NONE;

	priv->follow = FOLLOW_NONE;
	if (!machine_syscall(regs, &syscall) || !read_end(tracee, &syscall, &end))
		return false;
	if (!is_same) {
		priv->followed_ns = clock_monotonic_ns();
		priv->time_is_up_ns =
			target_call_began_ns(tracee, &syscall, end.timeout_ns, by_signal) +
			end.timeout_ns;
	}
	if (clock_monotonic_ns() >= priv->time_is_up_ns) {
		machine_end_call(regs, end.result);
		return true;
	}
	priv->follow = FOLLOW_ENTRY;
	tracee_list_add(&target->followed, tracee);
	return false;
}

/*
 * Here, at the exit, no repair is possible: should another thread take the signal first, nobody
 * would restart the call. Where signals are looked for there is always one more stop now.
 */
static enum follow broken_again(const struct tracee *tracee)
{
	target_ask_to_stop(tracee);
	return FOLLOW_BROKEN;
}

/*
 * Taken up again, a connection that is not made when the time is up is said to be another call's
 * (inet_stream_connect() in net/ipv4/af_inet.c).
 */
static void end_connect(const struct tracee *tracee, struct machine_regs *regs)
{
	struct proc_syscall syscall;

	if (!machine_syscall(regs, &syscall) || syscall.nr != SYS_connect ||
	    machine_syscall_result(regs) != -EALREADY)
		return;
	machine_end_call(regs, -EINPROGRESS);
	target_set_regs(tracee->tid, regs);
}

enum follow target_followed_stop(const struct tracee *tracee)
{
	const struct tracee_private *priv = tracee->priv;
	struct machine_regs regs;

	if (!target_get_regs(tracee->tid, &regs))
		return FOLLOW_NONE;
	if (priv->follow == FOLLOW_ENTRY && machine_enters(&regs, &priv->broken))
		return FOLLOW_EXIT;
	if (priv->follow == FOLLOW_EXIT && machine_broken_call(&regs) != MACHINE_CALL_NONE)
		return broken_again(tracee);
	if (priv->follow == FOLLOW_EXIT)
		end_connect(tracee, &regs);
	return FOLLOW_NONE;
}

/* So much later than the time of a call was up, whoever runs has left it. */
#define LEFT_LATE_NS (20 * NS_PER_MS)

bool target_is_timing_out(const struct tracee *tracee)
{
	const struct seen_sleep *seen = &tracee->priv->sleep;
	struct end_by_timeout end;

	return target_asks_for_signals_first(seen->call.nr) &&
	       read_end(tracee, &seen->call, &end) && target_time_may_be_up(seen, end.timeout_ns) &&
	       clock_monotonic_ns() < seen->since_ns + end.timeout_ns + LEFT_LATE_NS;
}

/* No later than this, or this part of the timeout, it is noise. */
#define STRETCHED_NS	(4 * NS_PER_MS)
#define STRETCHED_SHARE 16

bool target_would_be_stretched(const struct tracee *tracee)
{
	const struct seen_sleep *seen = &tracee->priv->sleep;
	struct end_by_timeout end;

	/* Who waits in a select for descriptors begins anew whenever it is stopped. */
	if (find_call(seen->call.nr) && !can_end(&seen->call))
		return true;
	return read_end(tracee, &seen->call, &end) &&
	       seen->since_ns - seen->not_before_ns >
		       max_u64(STRETCHED_NS, end.timeout_ns / STRETCHED_SHARE);
}

/* One that has not come to its call yet is asked after again so much later. */
#define ENTRY_NS NS_PER_MS

/* When it is to be ended; 0: nobody follows it any more. */
static uint64_t end_of(struct tracee *tracee, uint64_t now_ns)
{
	const struct tracee_private *priv = tracee->priv;
	bool has_entered = priv->follow == FOLLOW_EXIT || target_carries_on_inside(tracee);

	if (priv->follow == FOLLOW_NONE && !priv->carried)
		return 0;
	if (now_ns < priv->time_is_up_ns)
		return priv->time_is_up_ns;
	if (!has_entered)
		return now_ns + ENTRY_NS;
	target_ask_to_stop(tracee);
	return 0;
}

uint64_t target_end_overdue(struct target *target, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = target->followed.nr; i-- > 0;) {
		uint64_t end_ns = end_of(target->followed.at[i], now_ns);

		if (!end_ns)
			tracee_list_remove(&target->followed, target->followed.at[i]);
		else if (end_ns < next_ns)
			next_ns = end_ns;
	}
	return next_ns;
}

/*
 * Let go now, it would begin anew, and wait for all of its time. So would another soon where
 * signals come often, until the first thread leaves (target_end.c): that is to do so from a young
 * call.
 */
static bool is_awaited(const struct tracee *tracee, uint64_t since_ns, uint64_t until_ns)
{
	const struct tracee_private *priv = tracee->priv;

	return priv->follow != FOLLOW_NONE && priv->time_is_up_ns <= until_ns &&
	       (priv->followed_ns <= since_ns || target_is_signalled(tracee));
}

bool target_awaits_timeouts(const struct target *target, uint64_t since_ns, uint64_t until_ns)
{
	for (size_t i = 0; i < target->followed.nr; i++) {
		if (is_awaited(target->followed.at[i], since_ns, until_ns))
			return true;
	}
	return false;
}
