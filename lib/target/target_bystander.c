// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>
#include <sys/ptrace.h>

#include "base/clock.h"
#include "proc/read.h"
#include "target/target_priv.h"

/*
 * A signal to a process may be taken by any of its threads. The kernel wakes one: that which it
 * was sent to (of SIGCHLD: whose child it is), or another if that is held, or was asked to stop
 * and does not run yet (wants_signal(), complete_signal() in kernel/signal.c). Any thread that
 * looks for signals earlier, as all do that we let go, takes it all the same, and who was woken
 * for it was woken in vain: no stop tells of it, and a call that the kernel does not restart
 * fails with EINTR. Of a signal that nobody catches, as SIGCHLD mostly is, no thread of a process
 * that is not traced would be told.
 *
 * But a thread that is asked to stop does so before it looks for signals (get_signal()), and its
 * call is repaired then. So as soon as a signal may have been sent, all those are asked to stop
 * that are awake and may be in such a call: the SIGCHLD of a traced child when we have reaped it,
 * which sends it, and others before a held thread is let go that would take them.
 */

/* How many are asked for their state at once: one is held meanwhile, or on its way. */
#define BYSTANDERS_MAX 64

/* In the queue of the process; a signal of the thread's own is nobody else's business. */
static bool signal_waits(pid_t tid)
{
	struct __ptrace_peeksiginfo_args which = {.flags = PTRACE_PEEKSIGINFO_SHARED, .nr = 1};
	siginfo_t info;

	return ptrace(PTRACE_PEEKSIGINFO, tid, &which, &info) > 0;
}

static char state_of(const struct tracee *tracee)
{
	int fd = tracee->priv->stat_fd;
	struct proc_stat stat;
	bool known = fd < 0 ? proc_read_task_stat(tracee->tgid, tracee->tid, &stat)
			    : proc_read_stat(fd, &stat);

	return known ? stat.state : 'X';
}

static bool would_take_signal(pid_t tid)
{
	struct proc_status status;

	return signal_waits(tid) && proc_read_status(tid, &status) &&
	       status.pending_process & ~status.blocked;
}

/* Stopped for this before, and not on a CPU since: it still is where signals are looked for. */
static bool still_leaves(struct tracee *tracee)
{
	struct proc_schedstat clocks;

	return tracee->priv->left_pcount && target_clocks(tracee, &clocks) &&
	       clocks.pcount == tracee->priv->left_pcount;
}

static void stop_if_awake(const struct target *target, struct tracee *tracee)
{
	if (state_of(tracee) != 'R' || still_leaves(tracee) || target_may_be_timing_out(tracee) ||
	    ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL) != 0)
		return;
	target_asked_to_stop(tracee);
	tracee->priv->bystander_of = target->stats.nr_signals + 1;
}

static bool may_be_woken(const struct tracee *tracee, pid_t tgid, const struct tracee *taker)
{
	return tracee && tracee->tgid == tgid && tracee != taker && !tracee->listening &&
	       tracee->care.fails_with_eintr;
}

/*
 * Whoever was woken is awake, and may be on its way already. The kernel begins its search with
 * the thread that it found the last time, and goes on in the order of their births.
 */
static void stop_bystanders(const struct target *target, pid_t tgid, const struct tracee *taker)
{
	struct tracee *last = target_find(target, target->last_bystander);
	size_t first = (size_t)tgid % TRACEE_BUCKETS;
	size_t nr = 0;

	if (may_be_woken(last, tgid, taker))
		stop_if_awake(target, last);
	for (size_t i = 0; i < TRACEE_BUCKETS && nr < BYSTANDERS_MAX; i++) {
		struct tracee *other = target->buckets[(first + i) % TRACEE_BUCKETS];

		for (; other; other = other->priv->hash_next) {
			if (!may_be_woken(other, tgid, taker) || other == last)
				continue;
			stop_if_awake(target, other);
			nr++;
		}
	}
}

void target_before_letting_go(struct target *target, struct tracee *tracee)
{
	struct proc_schedstat clocks;

	if (tracee->priv->bystander_of && target_clocks(tracee, &clocks))
		tracee->priv->left_pcount = clocks.pcount;
	/*
	 * Unless it was stopped itself for another that would have taken this signal: else each
	 * of two would stop the other for ever.
	 */
	if (target->any_unrestarted && tracee->priv->bystander_of != target->stats.nr_signals + 1 &&
	    would_take_signal(tracee->tid))
		stop_bystanders(target, tracee->tgid, tracee);
}

bool target_before_reaping(const struct target *target, const struct tracee *child, pid_t *parent)
{
	struct tracee *thread = target_find(target, child->priv->parent_tid);
	struct proc_stat stat;

	if (thread)
		thread->priv->spared_until_ns = 0;
	/* Asleep, it is the one that is woken. */
	if (child->tid != child->tgid || (thread && state_of(thread) == 'S') ||
	    !proc_read_task_stat(child->tgid, child->tid, &stat))
		return false;
	*parent = stat.ppid;
	return target_find(target, stat.ppid);
}

void target_after_reaping(const struct target *target, pid_t parent)
{
	stop_bystanders(target, parent, NULL);
}

/* From the stop at its end to the reaping; where that takes longer, the look is worth more. */
#define DYING_NS (2 * NS_PER_MS)

void target_child_dies(struct target *target, const struct tracee *child)
{
	struct tracee *parent = target_find(target, child->priv->parent_tid);
	struct proc_stat stat;

	if (parent && parent->tgid != child->tgid &&
	    proc_read_task_stat(parent->tgid, parent->tid, &stat) && stat.nr_threads > 1)
		parent->priv->spared_until_ns = clock_monotonic_ns() + DYING_NS;
}

bool target_awaits_signal(const struct tracee *tracee)
{
	return tracee->priv->spared_until_ns &&
	       clock_monotonic_ns() < tracee->priv->spared_until_ns;
}

void target_note_birth(struct target *target, const struct tracee *parent, pid_t child)
{
	struct tracee *known = target_find(target, child);

	if (known)
		known->priv->parent_tid = parent->tid;
	else
		target->births[target->next_birth++ % BIRTHS_MAX] =
			(struct birth){.child = child, .parent_tid = parent->tid};
}

pid_t target_take_birth(struct target *target, pid_t child)
{
	for (size_t i = 0; i < BIRTHS_MAX; i++) {
		if (target->births[i].child == child) {
			target->births[i].child = 0;
			return target->births[i].parent_tid;
		}
	}
	return 0;
}
