// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>

#include "base/clock.h"
#include "proc/read.h"
#include "target/target_priv.h"

/*
 * The tracer thread's end lets everybody go. Who was woken for a stop by then, be it ours or that
 * of a signal that nobody catches, and has not been repaired in it, fails with EINTR: untraced, it
 * finds nothing to stop for. So does the parent of a child that we have not reaped: the kernel
 * lets the youngest go first, and sends the SIGCHLD to one that is traced yet.
 *
 * And whoever is let go in a stop is made to look for signals (ptrace_signal_wake_up()), even if
 * that is at the entry of a call, which then fails like that: nobody is to be in such a stop.
 *
 * A signal to a process that nobody cares for wakes somebody only because its first thread is
 * traced (sig_ignored() in kernel/signal.c). So where these come often the first thread goes before
 * all others, from a stop for one of them, in which it is repaired: it and they feel no more of
 * them. Of 525 ends amid 3,000 signals a second 52 were felt. If it was another that went, it would
 * be woken for them as ever, and no stop would tell.
 *
 * What pthread_kill(3) sends wakes one thread only: each that gets such signals often goes from a
 * stop for one of its own. But not while other threads than the first still get those to their
 * process, as where the first has ended or is in a vfork(2): they would go to who has left, too.
 * Those of children go to who has made them.
 */

void target_begin_ending(struct target *target)
{
	target->is_ending = true;
}

/*
 * In state D it cannot, as one that waits for its vfork; nor does it come out with EINTR then. But
 * where it is at the beginning of a wait and copies its time, for which the memory is locked where
 * its process forks, it goes on to find that it was asked to stop.
 */
static bool may_stop_in(const struct tracee *tracee, char state)
{
	struct proc_syscall syscall;

	return state == 'R' || state == 'S' || state == 't' ||
	       (state == 'D' && target_read_syscall(tracee, &syscall) &&
		target_may_fail_in(tracee, &syscall));
}

/* Who has stopped meanwhile is still to be repaired. */
static bool is_on_its_way(const struct tracee *tracee)
{
	struct proc_stat stat;

	return tracee->priv->is_to_stop && !tracee->priv->has_exited && !tracee->listening &&
	       target_read_stat(tracee, &stat) && may_stop_in(tracee, stat.state);
}

/* A handler that runs before a call is made again finds it in none: see target_repair.c. */
static bool awaits_handler(const struct tracee *tracee)
{
	struct proc_status status;

	return !proc_read_status(tracee->tid, &status) ||
	       ((status.pending_thread | status.pending_process) & ~status.blocked & status.caught);
}

#define OFTEN_NS (5 * NS_PER_MS)

static bool is_recent(uint64_t time_ns)
{
	return time_ns && clock_monotonic_ns() - time_ns < OFTEN_NS;
}

static bool is_first(const struct tracee *tracee)
{
	return tracee->tid == tracee->tgid;
}

static bool may_leave_for_its_own(const struct target *target, const struct tracee *taker,
				  int signal)
{
	const struct tracee *first = target_find(target, taker->tgid);

	return !(first && is_recent(first->priv->signalled_ns)) &&
	       !is_recent(target->last_shared_signal_ns) && target_is_sent_to_thread(taker) &&
	       !target_is_caught(taker->tid, signal);
}

/* From the stop for a signal that it is in. */
bool target_may_leave(const struct target *target, const struct tracee *taker, int signal)
{
	return target->is_ending && !taker->priv->carried &&
	       (is_first(taker) || may_leave_for_its_own(target, taker, signal)) &&
	       !awaits_handler(taker);
}

void target_note_left(struct target *target, struct tracee *taker)
{
	taker->priv->has_left = true;
	taker->priv->is_to_stop = taker->interrupting = false;
	tracee_list_remove(&target->signalled, taker);
	tracee_list_remove(&target->followed, taker);
	taker->priv->signalled_ns = 0;
}

/* Of what is caught there is nothing to be felt; but until the end it is not worth asking. */
static void note_own_signal(struct target *target, const struct tracee *taker, int signal)
{
	if (!target->is_ending || !target_is_caught(taker->tid, signal))
		target->last_own_signal_ns = clock_monotonic_ns();
}

static void drop_calm(struct tracee_list *signalled)
{
	for (size_t i = signalled->nr; i-- > 0;) {
		if (!is_recent(signalled->at[i]->priv->signalled_ns))
			tracee_list_remove(signalled, signalled->at[i]);
	}
}

static void note_first(struct target *target, struct tracee *first)
{
	first->priv->signalled_ns = clock_monotonic_ns();
	if (target->signalled.nr == TRACEE_LIST_MAX)
		drop_calm(&target->signalled);
	tracee_list_add(&target->signalled, first);
}

void target_note_signal(struct target *target, struct tracee *taker, int signal)
{
	if (taker->priv->has_left)
		return;
	if (is_first(taker))
		note_first(target, taker);
	else if (target_is_sent_to_thread(taker))
		note_own_signal(target, taker, signal);
	else if (signal != SIGCHLD)
		target->last_shared_signal_ns = clock_monotonic_ns();
}

bool target_is_signalled(const struct tracee *tracee)
{
	return is_recent(tracee->priv->signalled_ns);
}

static bool any_first_is_to_leave(const struct target *target)
{
	for (size_t i = 0; i < target->signalled.nr; i++) {
		if (target_is_signalled(target->signalled.at[i]))
			return true;
	}
	return false;
}

bool target_awaits_leaving(const struct target *target)
{
	return any_first_is_to_leave(target) ||
	       (is_recent(target->last_own_signal_ns) && !is_recent(target->last_shared_signal_ns));
}

bool target_any_is_to_stop(const struct target *target)
{
	for (size_t i = 0; i < TRACEE_BUCKETS; i++) {
		const struct tracee *tracee = target->buckets[i];

		for (; tracee; tracee = tracee->priv->hash_next) {
			if (is_on_its_way(tracee))
				return true;
		}
	}
	return false;
}

static bool has_signal(const struct tracee *tracee)
{
	struct proc_status status;

	return proc_read_status(tracee->tid, &status) &&
	       ((status.pending_thread | status.pending_process) & ~status.blocked);
}

/* It is followed, or its call is. */
static bool stops_at_next_call(const struct tracee *tracee)
{
	return tracee->priv->is_followed_asker || tracee->priv->follow == FOLLOW_ENTRY;
}

/* Woken for a signal, or otherwise awake and to stop soon, it may wait for a CPU before it does. */
static bool will_stop(const struct tracee *tracee)
{
	struct proc_stat stat;

	return !tracee->priv->has_exited && !tracee->priv->has_left && !tracee->listening &&
	       target_read_stat(tracee, &stat) && stat.state == 'R' &&
	       (stops_at_next_call(tracee) || has_signal(tracee));
}

bool target_any_will_stop(const struct target *target)
{
	if (target->nr_postponed)
		return true;
	for (size_t i = 0; i < TRACEE_BUCKETS; i++) {
		const struct tracee *tracee = target->buckets[i];

		for (; tracee; tracee = tracee->priv->hash_next) {
			if (will_stop(tracee))
				return true;
		}
	}
	return false;
}

bool target_any_may_die_of_parted(const struct target *target)
{
	for (size_t i = 0; i < target->nr_endangered; i++) {
		if (target_may_die_of_parted(target->endangered[i]))
			return true;
	}
	return false;
}
