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
 * call is repaired then. So before a held thread is let go that would take a signal, all those are
 * asked to stop that are awake and may be in such a call; and after the reaping of a child that
 * could not be put off until the right thread would be woken (target_reaping.c).
 *
 * Some calls ask for waiting signals themselves, since they change the mask of what is blocked:
 * sigtimedwait(2) and others. They fail though nobody has woken them, if they begin or end while
 * another is on its way to take the signal. Who makes such calls is asked to stop before a child
 * is reaped, if it is awake.
 */

/* How many are asked for their state at once: one is held meanwhile, or on its way. */
#define BYSTANDERS_MAX 64

/* In the queue of the process; a signal of the thread's own is nobody else's business. */
static bool signal_waits(pid_t tid, siginfo_t *info)
{
	struct __ptrace_peeksiginfo_args which = {.flags = PTRACE_PEEKSIGINFO_SHARED, .nr = 1};

	return ptrace(PTRACE_PEEKSIGINFO, tid, &which, info) > 0;
}

/* What the end of a child has sent for which one was woken whom that does no harm. */
static uint64_t harmless(const struct target *target, pid_t tgid, const siginfo_t *info)
{
	return target_is_sender(target, tgid, info) ? target_signal_bit(SIGCHLD) : 0;
}

/* Waiting for memory in state D, it is as good as awake. */
bool target_is_awake(const struct tracee *tracee)
{
	struct proc_stat stat;

	return target_read_stat(tracee, &stat) && (stat.state == 'R' || stat.state == 'D');
}

bool target_is_only_thread(const struct tracee *tracee)
{
	struct proc_stat stat;

	return target_read_stat(tracee, &stat) && stat.nr_threads == 1;
}

/* Which of the process' signals it would. */
static uint64_t would_take(const struct target *target, const struct tracee *tracee)
{
	struct proc_status status;
	siginfo_t info;

	if (!signal_waits(tracee->tid, &info) || !proc_read_status(tracee->tid, &status))
		return 0;
	return status.pending_process & ~status.blocked & ~harmless(target, tracee->tgid, &info);
}

/* Stopped for this before, and not on a CPU since: it still is where signals are looked for. */
static bool still_leaves(struct tracee *tracee)
{
	struct proc_schedstat clocks;

	return tracee->priv->left_pcount && target_clocks(tracee, &clocks) &&
	       clocks.pcount == tracee->priv->left_pcount;
}

static void stop(const struct target *target, struct tracee *tracee)
{
	if (!target_ask_to_stop_as_seen(tracee))
		return;
	tracee->priv->bystander_of = target->stats.nr_signals + 1;
}

void target_stop_to_repair(struct tracee *tracee)
{
	stop(tracee->priv->target, tracee);
}

/* In a transfer nobody dies of being woken, and a stop would cut it. */
static bool is_harmed_more(struct tracee *tracee)
{
	return !tracee->care.is_unrestarted && target_is_in_what_would_spoil(tracee);
}

static void stop_if_awake(const struct target *target, struct tracee *tracee, uint64_t signals)
{
	if (!target_is_awake(tracee) || still_leaves(tracee) || target_may_be_timing_out(tracee) ||
	    target_blocks(tracee, signals) || is_harmed_more(tracee))
		return;
	stop(target, tracee);
	tracee->priv->was_found_awake = true;
}

/* Who runs cannot be learnt about: it is tried so often. */
#define MEETINGS_MAX 4

static bool is_met(const struct tracee *tracee)
{
	return tracee->priv->nr_meetings == MEETINGS_MAX;
}

void target_note_met_asleep(struct tracee *tracee)
{
	tracee->priv->target->nr_unmet -= !is_met(tracee);
	tracee->priv->nr_meetings = MEETINGS_MAX;
}

void target_note_met_awake(struct tracee *tracee)
{
	if (!is_met(tracee) && ++tracee->priv->nr_meetings == MEETINGS_MAX)
		tracee->priv->target->nr_unmet--;
}

/*
 * Of who is followed it is known which call it is in, of others in which it was. Who has just been
 * born, or attached to, may be in any.
 */
static bool may_fail(const struct tracee *tracee)
{
	return (tracee->care.is_unrestarted || !is_met(tracee)) &&
	       !(tracee->priv->is_in_call && tracee->priv->entered_restarted);
}

static bool may_be_woken(const struct tracee *tracee, pid_t tgid, const struct tracee *taker)
{
	return tracee && tracee->tgid == tgid && tracee != taker && !tracee->listening &&
	       (may_fail(tracee) || tracee->priv->is_endangered);
}

void target_note_woken(struct tracee *tracee)
{
	struct tracee *first = target_find(tracee->priv->target, tracee->tgid);

	if (first && first != tracee)
		first->priv->last_bystander = tracee->tid;
}

/* Whom the kernel found the last time, as far as is known; of a first thread, itself. */
static pid_t last_found(const struct target *target, pid_t tgid)
{
	const struct tracee *first = target_find(target, tgid);

	return first && first->priv->last_bystander ? first->priv->last_bystander : tgid;
}

/*
 * Whoever was woken is awake, and may be on its way already. The kernel begins its search with
 * the thread that it found the last time, and goes on in the order of their births.
 */
static void stop_bystanders(const struct target *target, pid_t tgid, const struct tracee *taker,
			    uint64_t signals)
{
	struct tracee *last = target_find(target, last_found(target, tgid));
	size_t first = (size_t)last_found(target, tgid) % TRACEE_BUCKETS;
	size_t nr = 0;

	if (may_be_woken(last, tgid, taker))
		stop_if_awake(target, last, signals);
	for (size_t i = 0; i < TRACEE_BUCKETS && nr < BYSTANDERS_MAX; i++) {
		struct tracee *other = target->buckets[(first + i) % TRACEE_BUCKETS];

		for (; other; other = other->priv->hash_next) {
			if (!may_be_woken(other, tgid, taker) || other == last)
				continue;
			stop_if_awake(target, other, signals);
			nr++;
		}
	}
}

void target_before_letting_go(struct target *target, struct tracee *tracee)
{
	struct proc_schedstat clocks;
	uint64_t signals;

	if (tracee->priv->bystander_of && target_clocks(tracee, &clocks))
		tracee->priv->left_pcount = clocks.pcount;
	/*
	 * Unless it was stopped itself for another that would have taken this signal: else each
	 * of two would stop the other for ever.
	 */
	if ((!target->any_unrestarted && target->nr_unmet < 2) ||
	    tracee->priv->bystander_of == target->stats.nr_signals + 1)
		return;
	signals = would_take(target, tracee);
	if (signals)
		stop_bystanders(target, tracee->tgid, tracee, signals);
}

void target_stop_bystanders(const struct target *target, pid_t tgid)
{
	stop_bystanders(target, tgid, NULL, target_signal_bit(SIGCHLD));
}

/* In a crowd it takes up to 0.4 ms, for a signal that hardly ever has woken one of it in vain. */
#define WOKEN_SHARE 50

/* Who may die of being woken is brought to where he is followed before (target_filter.c). */
void target_stop_woken_in_vain(const struct target *target, const struct tracee *taker, int signal)
{
	struct tracee *leader = target_find(target, taker->tgid);
	uint64_t begun_ns = clock_monotonic_ns();

	if (!leader || begun_ns < leader->priv->ask_woken_ns ||
	    target_any_endangered(target, taker->tgid))
		return;
	stop_bystanders(target, taker->tgid, taker, target_signal_bit(signal));
	leader->priv->ask_woken_ns = clock_monotonic_ns();
	leader->priv->ask_woken_ns += (leader->priv->ask_woken_ns - begun_ns) * WOKEN_SHARE;
}

void target_stop_woken(const struct target *target, struct tracee *tracee)
{
	if (!target_may_be_timing_out(tracee))
		stop(target, tracee);
}

void target_note_asker(struct target *target, struct tracee *tracee)
{
	tracee_list_add(&target->askers, tracee);
}

static bool may_ask(const struct tracee *asker, pid_t tgid, const struct tracee *taker)
{
	return asker->tgid == tgid && asker != taker && !asker->listening;
}

static bool has_run_since(struct tracee *asker)
{
	struct proc_schedstat clocks;

	return target_clocks(asker, &clocks) && clocks.pcount != asker->priv->asker_pcount;
}

static void stop_new_askers(const struct target *target, bool (*has_woken)(struct tracee *))
{
	for (size_t i = 0; i < target->askers.nr; i++) {
		struct tracee *asker = target->askers.at[i];

		if (asker->priv->asker_pcount == ASKER_IS_ASKED || !has_woken(asker))
			continue;
		stop(target, asker);
		asker->priv->asker_pcount = ASKER_IS_ASKED;
	}
}

/*
 * Also one that was let go and has not run yet: its call is about to ask anew. Of the others, note
 * how often they have run.
 */
void target_stop_askers(const struct target *target, pid_t tgid, const struct tracee *taker)
{
	for (size_t i = 0; i < target->askers.nr; i++) {
		struct tracee *asker = target->askers.at[i];
		struct proc_schedstat clocks;

		asker->priv->asker_pcount = ASKER_IS_ASKED;
		if (!may_ask(asker, tgid, taker))
			continue;
		if (target_clocks(asker, &clocks))
			asker->priv->asker_pcount = clocks.pcount;
		if (!target_is_awake(asker))
			continue;
		stop(target, asker);
		asker->priv->asker_pcount = ASKER_IS_ASKED;
	}
	stop_new_askers(target, has_run_since);
}

static bool wakes(struct tracee *asker)
{
	return target_is_awake(asker);
}

/*
 * Those on a CPU come first: they have some ten microseconds. By their count, as who begins a call
 * shows itself asleep for a moment before it is told of the signal.
 */
void target_stop_woken_askers(const struct target *target)
{
	stop_new_askers(target, has_run_since);
	stop_new_askers(target, wakes);
	stop_new_askers(target, has_run_since);
}

void target_stop_unfollowed_askers(const struct target *target, pid_t tgid)
{
	for (size_t i = 0; i < target->askers.nr; i++) {
		struct tracee *asker = target->askers.at[i];

		if (asker->tgid == tgid && !asker->listening && !asker->priv->is_followed_asker &&
		    target_asker_has_budget(asker) && target_is_awake(asker) &&
		    !target_may_be_timing_out(asker))
			stop(target, asker);
	}
}

static void meet(struct tracee *tracee)
{
	struct proc_syscall syscall;

	if (target_read_syscall(tracee, &syscall) && syscall.kind == PROC_SYSCALL_INSIDE)
		target_take_care(tracee, &syscall);
	else
		target_note_met_awake(tracee);
}

/*
 * What a thread sleeps in is known once it has been looked at. The signals of a process do not wait
 * for that: the first of them would wake somebody in vain.
 */
void target_meet_sleepers(const struct target *target, pid_t tgid)
{
	size_t nr = 0;

	for (size_t i = 0; i < TRACEE_BUCKETS && target->nr_unmet && nr < BYSTANDERS_MAX; i++) {
		struct tracee *other = target->buckets[((size_t)tgid + i) % TRACEE_BUCKETS];

		for (; other; other = other->priv->hash_next) {
			if (other->tgid != tgid || is_met(other) || other->priv->hold != HOLD_NONE)
				continue;
			meet(other);
			nr++;
		}
	}
}

/* So long it is left then, should it be in calls that are not followed, */
#define ROUSED_NS NS_PER_SEC
/* or until it is looked at again, where it was seen last in another call than it may be in now. */
#define HAS_RUN_NS (20 * NS_PER_MS)
/* So many are asked for their clocks at a time. */
#define ROUSE_TRIES 16

static bool may_be_roused(const struct tracee *tracee, const struct tracee *taker, uint64_t now_ns)
{
	return tracee->tgid == taker->tgid && tracee != taker && target_may_fail_in_vain(tracee) &&
	       !tracee->listening && !tracee->priv->is_followed_asker &&
	       !tracee->priv->is_endangered && now_ns >= tracee->priv->rouse_again_ns;
}

/*
 * Not who may have gone on to a call that a stop would cut; nor one of whose call it is not known
 * well when it began, as its time begins anew then.
 */
static bool rouse(const struct target *target, struct tracee *sleeper, uint64_t now_ns)
{
	bool may_stop;

	target_know_sleep(sleeper);
	may_stop = target_sleeps_as_seen(sleeper) && !target_would_be_stretched(sleeper);
	sleeper->priv->rouse_again_ns = now_ns + (may_stop ? ROUSED_NS : HAS_RUN_NS);
	if (!may_stop || !target_asker_has_budget(sleeper) || target_may_be_timing_out(sleeper))
		return false;
	stop(target, sleeper);
	return true;
}

/*
 * Of many that stop at once, one SIGCHLD names one, and the others of a crowd would stand until all
 * are asked: so they are stopped one at a time.
 */
void target_rouse_one(struct target *target, const struct tracee *taker)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t first = target->next_roused, nr = 0;

	for (size_t i = 0; i < TRACEE_BUCKETS && nr < ROUSE_TRIES; i++) {
		struct tracee *other = target->buckets[(first + i) % TRACEE_BUCKETS];

		target->next_roused = (first + i) % TRACEE_BUCKETS;
		for (; other; other = other->priv->hash_next) {
			if (!may_be_roused(other, taker, now_ns))
				continue;
			if (rouse(target, other, now_ns))
				return;
			nr++;
		}
	}
}
