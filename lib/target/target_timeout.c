// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
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
#ifdef SYS_epoll_wait
	{SYS_epoll_wait, 3, TIMEOUT_MS, 0},
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

/* The sets that a select has to leave empty would have to be written. */
static bool has_sets(const struct proc_syscall *syscall)
{
	return syscall->nr == SYS_pselect6 &&
	       (syscall->args[1] || syscall->args[2] || syscall->args[3]);
}

/* False if the call has no timeout, or one that is not known. */
static bool read_end(const struct tracee *tracee, const struct proc_syscall *syscall,
		     struct end_by_timeout *end)
{
	const struct timed_call *call = find_call(syscall->nr);
	uint64_t argument;

	if (!call || has_sets(syscall))
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
	if (!is_same)
		priv->time_is_up_ns =
			target_call_began_ns(tracee, &syscall, end.timeout_ns, by_signal) +
			end.timeout_ns;
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
	ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL);
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

/*
 * Seen asleep in it first, a call had begun so much earlier at most; and so much later than its
 * time was up, whoever runs has left it.
 */
#define SEEN_LATE_NS (4 * NS_PER_MS)
#define LEFT_LATE_NS (20 * NS_PER_MS)

bool target_is_timing_out(const struct tracee *tracee)
{
	const struct seen_sleep *seen = &tracee->priv->sleep;
	uint64_t now_ns = clock_monotonic_ns();
	struct end_by_timeout end;

	return target_asks_for_signals_first(seen->call.nr) &&
	       read_end(tracee, &seen->call, &end) &&
	       now_ns + SEEN_LATE_NS >= seen->since_ns + end.timeout_ns &&
	       now_ns < seen->since_ns + end.timeout_ns + LEFT_LATE_NS;
}

/* One that has not come to its call yet is asked after again so much later. */
#define ENTRY_NS NS_PER_MS

/* When it is to be ended; 0: nobody follows it any more. */
static uint64_t end_of(struct tracee *tracee, uint64_t now_ns)
{
	const struct tracee_private *priv = tracee->priv;

	if (priv->follow != FOLLOW_ENTRY && priv->follow != FOLLOW_EXIT)
		return 0;
	if (now_ns < priv->time_is_up_ns)
		return priv->time_is_up_ns;
	if (priv->follow == FOLLOW_ENTRY)
		return now_ns + ENTRY_NS;
	ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL);
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
