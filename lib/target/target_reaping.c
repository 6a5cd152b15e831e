// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>

#include "base/clock.h"
#include "proc/read.h"
#include "target/target_priv.h"

/*
 * The SIGCHLD of a traced child is sent when we reap it (wait_task_zombie() in kernel/exit.c), and
 * so we choose the moment. The kernel wakes the thread whose child it is, if it can: not if that
 * is held, or is not on a CPU and was woken for something else. Then it wakes another, in vain if
 * the signal is taken before that looks for it. So the zombie stays until the thread sleeps. Its
 * parent is not kept waiting by that: it is the one that is not ready.
 *
 * Under a filter that kills who restarts its call (target_filter.c) that thread is the only one to
 * be followed, and only in such a call; where it cannot be woken it may be anyone.
 */
#define LONGEST_NS (2 * NS_PER_MS)

/*
 * If it is held, or waits for a CPU, it cannot ask for its child either: on a machine with too few
 * CPUs that took 2 to 3 ms where EINTR was seen. Another thread of the parent may wait, though.
 */
#define LONGEST_OFF_CPU_NS (5 * NS_PER_MS)

/*
 * Where CPUs are so few for so many threads that those who might die take that long to come to the
 * stop in which they are followed, a program that was not waited for dies of it, in 1 of 8 runs.
 */
#define LONGEST_IN_DANGER_NS (50 * NS_PER_MS)

/* Who has waited for long may do so for a while: its parent is waiting for a CPU. */
#define PAUSE_NS    (50 * NS_PER_US)
#define PAUSE_SHARE 4

/* Of a thread that is gone, the kernel gives the children to another of the process. */
static struct tracee *parent_of(const struct target *target, const struct tracee *child)
{
	struct tracee *thread = target_find(target, child->priv->parent_tid);
	struct proc_stat stat;

	if (!target_read_stat(child, &stat))
		return NULL;
	return thread && thread->tgid == stat.ppid ? thread : target_find(target, stat.ppid);
}

static struct postponed *find_postponed(struct target *target, pid_t tid)
{
	for (size_t i = 0; i < target->nr_postponed; i++) {
		if (target->postponed[i].tid == tid)
			return &target->postponed[i];
	}
	return NULL;
}

static void forget_postponed(struct target *target, struct postponed *postponed)
{
	if (postponed)
		*postponed = target->postponed[--target->nr_postponed];
}

static void note_run(struct tracee *parent, const struct proc_status *status,
		     struct postponed *postponed)
{
	postponed->parent_tid = parent->tid;
	postponed->nr_left = status->nr_yielded + status->nr_preempted;
	if (!target_clocks(parent, &postponed->clocks))
		postponed->clocks = (struct proc_schedstat){0};
}

/*
 * Runnable, is it on a CPU? If it has come to one since its child was found dead, or has used some,
 * and has not left it.
 */
static bool is_on_cpu(struct tracee *parent, struct postponed *postponed)
{
	struct proc_schedstat clocks;
	struct proc_status status;

	if (!proc_read_status(parent->tid, &status))
		return false;
	if (postponed->nr_left != status.nr_yielded + status.nr_preempted) {
		note_run(parent, &status, postponed);
		return false;
	}
	return target_clocks(parent, &clocks) && clocks.runq_ns &&
	       (clocks.pcount != postponed->clocks.pcount ||
		clocks.cpu_ns != postponed->clocks.cpu_ns);
}

/*
 * Can it be woken for a signal? Held or asked to stop it cannot; awake and off its CPU, it may be
 * on its way out of a stop; in state D it waits for memory, mostly, and would not take the signal
 * soon. That it has been on a CPU since it was let go does not help: with this asked, EINTR was 3
 * times as frequent.
 */
static bool can_be_woken(struct tracee *parent, char state, struct postponed *postponed)
{
	if (parent->interrupting || parent->priv->is_to_stop || state == 't' || state == 'D')
		return false;
	return state != 'R' || (postponed && is_on_cpu(parent, postponed));
}

/* Who waits for a CPU mostly gets one sooner than that. */
#define SOON_WOKEN_NS (3 * NS_PER_MS)

static bool waits_long(const struct postponed *postponed)
{
	return postponed && clock_monotonic_ns() - postponed->dead_since_ns > SOON_WOKEN_NS;
}

/* Is anyone whom the signal may wake, and who may die of it, not followed yet? */
static bool is_anyone_in_danger(const struct target *target, struct tracee *parent, bool can,
				const struct postponed *postponed)
{
	if (!target_blocks_now(parent, SIGCHLD)) {
		if (can)
			return target_follow_parent(parent);
		if (!waits_long(postponed))
			return false;
	}
	return target_follow_suspects(target, parent->tgid);
}

static uint64_t longest_ns(char state, bool is_anyone_in_danger)
{
	if (is_anyone_in_danger)
		return LONGEST_IN_DANGER_NS;
	return state == 'D' ? LONGEST_NS : LONGEST_OFF_CPU_NS;
}

/* Says whether it is to wait, on. `parent` is NULL until it is known who that is. */
static bool postpone(struct target *target, const struct tracee *child, struct tracee *parent,
		     uint64_t longest_ns)
{
	struct postponed *postponed = find_postponed(target, child->tid);
	uint64_t now_ns = clock_monotonic_ns();
	struct proc_status status;

	if (postponed) {
		postponed->parent_tid = parent ? parent->tid : 0;
		return now_ns - postponed->dead_since_ns < longest_ns;
	}
	if (target->nr_postponed == POSTPONED_MAX)
		return false;
	postponed = &target->postponed[target->nr_postponed++];
	*postponed = (struct postponed){.tid = child->tid, .dead_since_ns = now_ns};
	if (parent && proc_read_status(parent->tid, &status))
		note_run(parent, &status, postponed);
	target->next_reaping_ns = now_ns + PAUSE_NS;
	return true;
}

void target_note_namespaces(struct tracee *tracee, const struct proc_status *status)
{
	tracee->priv->nr_ns_pids = status->nr_ns_pids;
	tracee->priv->ns_pid = status->ns_pid;
}

/* Mostly known since its birth. */
static unsigned nr_ns_pids(struct tracee *tracee)
{
	struct proc_status status;

	if (!tracee->priv->nr_ns_pids && proc_read_status(tracee->tid, &status))
		target_note_namespaces(tracee, &status);
	return tracee->priv->nr_ns_pids;
}

/*
 * The id of a zombie as its parent sees it, whose PID namespace is that of the child, or one around
 * it. 0 if that is not known.
 */
static pid_t id_for_parent(struct tracee *child, struct tracee *parent)
{
	struct proc_status status;
	unsigned nr;

	if (nr_ns_pids(child) <= 1)
		return child->tid;
	nr = nr_ns_pids(parent);
	if (nr == child->priv->nr_ns_pids)
		return child->priv->ns_pid;
	if (!nr || !proc_read_status(child->tid, &status) || nr > status.nr_ns_pids)
		return 0;
	return status.ns_pids[nr - 1];
}

static void note_sender(struct target *target, struct tracee *child, struct tracee *parent,
			bool is_safe)
{
	const struct sender sender = {
		.pid = id_for_parent(child, parent),
		.parent_tid = parent->tid,
		.parent_tgid = parent->tgid,
		.is_safe = is_safe,
		.reaped_ns = clock_monotonic_ns(),
	};

	senders_note(&target->senders, &sender);
}

bool target_postpones_reaping(struct target *target, struct tracee *child, struct reaping *reaping)
{
	struct postponed *postponed = find_postponed(target, child->tid);
	struct tracee *parent = child->tid == child->tgid ? parent_of(target, child) : NULL;
	struct proc_stat stat;
	bool has_others = parent && target_read_stat(parent, &stat) && stat.nr_threads > 1;

	*reaping = (struct reaping){0};
	if (has_others && target->any_unrestarted) {
		bool is_known = !child->priv->is_untold;
		bool can = is_known && can_be_woken(parent, stat.state, postponed);
		bool endangers = is_anyone_in_danger(target, parent, can, postponed);

		can &= !endangers;
		if (!can && postpone(target, child, is_known ? parent : NULL,
				     longest_ns(stat.state, endangers)))
			return true;
		*reaping = (struct reaping){
			.parent = parent,
			.is_overdue = !can,
			.is_safe = can && stat.state == 'S' && !parent->care.is_unrestarted,
		};
	}
	forget_postponed(target, postponed);
	if (parent)
		parent->priv->spared_until_ns = 0;
	if (has_others)
		note_sender(target, child, parent, reaping->is_safe);
	return false;
}

bool target_is_sender(const struct target *target, pid_t tgid, const siginfo_t *info)
{
	const struct sender *sender =
		senders_find(&target->senders, tgid, info, clock_monotonic_ns());

	return sender && sender->is_safe;
}

pid_t target_parent_of_reaped(const struct target *target, pid_t tgid, const siginfo_t *info)
{
	const struct sender *sender =
		senders_find(&target->senders, tgid, info, clock_monotonic_ns());

	return sender ? sender->parent_tid : 0;
}

void target_before_reaping(const struct target *target, const struct reaping *reaping)
{
	if (reaping->parent)
		target_stop_askers(target, reaping->parent->tgid, reaping->parent);
}

void target_after_reaping(const struct target *target, const struct reaping *reaping)
{
	struct tracee *parent = reaping->parent;

	if (!parent)
		return;
	target_stop_woken_askers(target);
	/* It is awake now, and another may take the signal before it looks for it. */
	if (!reaping->is_safe && (parent->care.is_unrestarted || parent->priv->is_endangered))
		target_stop_woken(target, parent);
	if (reaping->is_overdue)
		target_stop_bystanders(target, parent->tgid);
}

/* 0: never. */
static uint64_t sooner_of(uint64_t one_ns, uint64_t other_ns)
{
	return !one_ns || (other_ns && other_ns < one_ns) ? other_ns : one_ns;
}

uint64_t target_next_reaping_ns(const struct target *target)
{
	uint64_t reaping_ns = target->nr_postponed ? target->next_reaping_ns : 0;

	reaping_ns = sooner_of(reaping_ns, target->untold ? target->ask_parents_ns : 0);
	return sooner_of(reaping_ns, target_settle_ns(target));
}

void target_met_untold(struct target *target, const struct tracee *child)
{
	target->untold = child->tid;
	target->untold_since_ns = target->ask_parents_ns = clock_monotonic_ns();
}

bool target_shall_ask_parents(struct target *target)
{
	struct tracee *child = target->untold ? target_find(target, target->untold) : NULL;
	uint64_t now_ns = clock_monotonic_ns();

	if (!child || !child->priv->is_untold || now_ns - target->untold_since_ns > LONGEST_NS) {
		target->untold = 0;
		return false;
	}
	if (now_ns < target->ask_parents_ns)
		return false;
	target->ask_parents_ns =
		now_ns + PAUSE_NS + (now_ns - target->untold_since_ns) / PAUSE_SHARE;
	return true;
}

void target_pause_reaping(struct target *target)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t shortest_ns = LONGEST_NS;

	for (size_t i = 0; i < target->nr_postponed; i++) {
		uint64_t waited_ns = now_ns - target->postponed[i].dead_since_ns;

		if (waited_ns < shortest_ns)
			shortest_ns = waited_ns;
	}
	target->next_reaping_ns = now_ns + PAUSE_NS + shortest_ns / PAUSE_SHARE;
}

/* From the stop at its end to the reaping; where that takes longer, the look is worth more. */
#define DYING_NS (2 * NS_PER_MS)

void target_child_dies(struct target *target, const struct tracee *child)
{
	struct tracee *parent = target_find(target, child->priv->parent_tid);
	struct proc_stat stat;

	target->dying[target->next_dying++ % DYING_MAX] = child->tid;
	if (parent && parent->tgid != child->tgid && target_read_stat(parent, &stat) &&
	    stat.nr_threads > 1)
		parent->priv->spared_until_ns = clock_monotonic_ns() + DYING_NS;
}

bool target_awaits_signal(const struct tracee *tracee)
{
	return tracee->priv->spared_until_ns &&
	       clock_monotonic_ns() < tracee->priv->spared_until_ns;
}
