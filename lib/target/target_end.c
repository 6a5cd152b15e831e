// SPDX-License-Identifier: GPL-2.0-or-later
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
 */

void target_begin_ending(struct target *target)
{
	target->is_ending = true;
}

/*
 * In state D it cannot, as one that waits for its vfork; nor does it come out with EINTR then. Who
 * has stopped meanwhile is still to be repaired.
 */
static bool is_on_its_way(const struct tracee *tracee)
{
	struct proc_stat stat;

	return tracee->priv->is_to_stop && !tracee->priv->has_exited && !tracee->listening &&
	       target_read_stat(tracee, &stat) &&
	       (stat.state == 'R' || stat.state == 'S' || stat.state == 't');
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

	return !tracee->priv->has_exited && !tracee->listening && target_read_stat(tracee, &stat) &&
	       stat.state == 'R' && (stops_at_next_call(tracee) || has_signal(tracee));
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
