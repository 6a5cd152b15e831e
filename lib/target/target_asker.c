// SPDX-License-Identifier: GPL-2.0-or-later
#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "target/target_priv.h"
#include "target/target_regs.h"

/*
 * Who begins a call that asks for waiting signals itself, and finds one that another thread takes
 * before it could, fails with EINTR and comes to no stop: get_signal() in kernel/signal.c has
 * nothing to tell. Where we choose when a SIGCHLD is sent such threads are stopped
 * (target_bystander.c); that of a child that parted (target_parting.c) comes when it likes: of
 * 400 such calls beside 2,000 children a second one failed so.
 *
 * So it is with every signal that nobody catches: untraced it would have been dropped. It waits for
 * the thread that was woken for it, and who begins such a call in that time finds it.
 *
 * So while a process has such children or gets such signals, its threads that make such calls are
 * let go to system call stops. At the exit of one that fails with EINTR the thread is asked to stop
 * once more, where it is repaired as ever: the kernel decides whether a handler runs. Who is not
 * let go so yet is stopped for that when it is found awake as a child parts or a signal comes;
 * asleep, its call would begin anew.
 *
 * The same is done to those that a filter of system calls may kill for it (target_filter.c). Before
 * a child is reaped whose maker can be woken that is the maker, if it sleeps in such a call
 * (target_reaping.c); where it may be anyone, and before a child parts, all of them are brought to
 * such a stop, whatever they are in, and sleep on.
 */

/* So long after the last of them parted or came. */
#define FOLLOWED_NS NS_PER_SEC

/*
 * Each stop takes 12 us of a CPU, ours and the thread's: 4 % of one in all. Who makes more than
 * 1,200 calls a second would need more, and is left alone then.
 */
#define BUDGET_NS    (100 * NS_PER_MS)
#define STOPS_OF_ONE 240
#define STOPS_OF_ALL 320
#define LEFT_NS	     NS_PER_SEC

/*
 * For who may die that is not all: only of a call that it is followed in, the beginning is known.
 * Who was never met in such a call may be one that makes many others.
 */
#define STOPS_OF_ENDANGERED 100
#define STOPS_OF_SUSPECT    40

static bool is_woken_in_vain(const struct tracee *leader)
{
	return leader && leader->priv->vain_ns &&
	       clock_monotonic_ns() - leader->priv->vain_ns < FOLLOWED_NS;
}

bool target_is_woken_in_vain(const struct tracee *tracee)
{
	return is_woken_in_vain(target_find(tracee->priv->target, tracee->tgid));
}

static bool is_over(const struct asker_budget *budget, unsigned int most, uint64_t pause_ns)
{
	return clock_monotonic_ns() - budget->since_ns >=
	       (budget->nr < most ? BUDGET_NS : pause_ns);
}

static bool has_left(const struct asker_budget *budget, unsigned int most, uint64_t pause_ns)
{
	return budget->nr < most || is_over(budget, most, pause_ns);
}

/*
 * A stop takes its CPU from a thread. Where others wait for one it gets another only after them, at
 * the beginning of each call that it is followed in and at the end: beside twenty busy threads
 * waits of 40 ms lasted twice as long. An EINTR is rarer.
 */
#define LONG_RUNQ_NS NS_PER_MS
#define TIMES_RUN    8

static bool waits_for_cpus(struct tracee *asker)
{
	struct tracee_private *priv = asker->priv;
	struct proc_schedstat clocks;
	uint64_t nr;

	if (!target_clocks(asker, &clocks))
		return true;
	nr = clocks.pcount - priv->asker_clocks.pcount;
	if (nr >= TIMES_RUN) {
		priv->waits_for_cpus =
			clocks.runq_ns - priv->asker_clocks.runq_ns > nr * LONG_RUNQ_NS;
		priv->asker_clocks = clocks;
	}
	return priv->waits_for_cpus;
}

/* Beside so many that part or come in each second EINTR is no rarer than what is late. */
#define MANY_PART_NS (5 * NS_PER_MS)
#define GAPS_SHARE   8

static void note_gap(struct tracee *leader, uint64_t now_ns)
{
	uint64_t gap_ns = min_u64(now_ns - leader->priv->vain_ns, FOLLOWED_NS);

	leader->priv->vain_gap_ns += gap_ns / GAPS_SHARE - leader->priv->vain_gap_ns / GAPS_SHARE;
	leader->priv->vain_ns = now_ns;
}

static bool may_wait(struct tracee *asker)
{
	const struct tracee *leader = target_find(asker->priv->target, asker->tgid);

	return (leader && leader->priv->vain_gap_ns < MANY_PART_NS) || !waits_for_cpus(asker);
}

bool target_asker_has_budget(struct tracee *asker)
{
	return (asker->priv->lets_in || may_wait(asker)) &&
	       has_left(&asker->priv->budget, STOPS_OF_ONE, LEFT_NS) &&
	       has_left(&asker->priv->target->asker_budget, STOPS_OF_ALL, BUDGET_NS);
}

/* It was met in a call that it may die of. */
static bool is_known_endangered(const struct tracee *tracee)
{
	return tracee->priv->is_endangered && !tracee->priv->is_suspected;
}

static bool makes_many_calls(const struct tracee *endangered)
{
	unsigned int most = endangered->priv->is_suspected ? STOPS_OF_SUSPECT : STOPS_OF_ENDANGERED;

	return !has_left(&endangered->priv->danger_budget, most, BUDGET_NS);
}

/* A child that was let part has not died yet, mostly for its memory; and others may follow. */
#define ENDANGERED_NS (20 * NS_PER_MS)
/*
 * Signals that nobody catches come one after the other, and two at once where CPUs are few: with
 * 20 ms, of two programs that were sent a thousand a second on two CPUs, 4 of 16 died; with this
 * none of 16.
 */
#define SIGNALLED_NS (100 * NS_PER_MS)

bool target_may_die_of_parted(const struct tracee *tracee)
{
	const struct tracee *leader = target_find(tracee->priv->target, tracee->tgid);

	return is_known_endangered(tracee) && leader &&
	       clock_monotonic_ns() - leader->priv->parted_ns < ENDANGERED_NS;
}

/*
 * Each stop is also a moment at which profc must not be killed: whoever stands at the entry of a
 * call then begins it with a signal pending (__ptrace_unlink() in kernel/ptrace.c). So nobody is
 * followed for a signal that cannot wake him.
 */
static bool is_endangered(const struct tracee *tracee, const struct tracee *leader)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!tracee->priv->is_endangered || !leader)
		return false;
	if (!tracee->priv->is_suspected && now_ns - leader->priv->parted_ns < ENDANGERED_NS)
		return !target_blocks(tracee, target_signal_bit(SIGCHLD));
	return now_ns < leader->priv->endangered_until_ns && !makes_many_calls(tracee) &&
	       !target_blocks(tracee, leader->priv->endangering);
}

/*
 * Woken for a signal that another thread takes: once for looking itself, once for being woken. Who
 * may die of a stop is not stopped for that, nor who makes long transfers: leaving a stop it finds
 * what waits for its process, and its next call is cut (recalc_sigpending() in kernel/signal.c).
 */
bool target_may_fail_in_vain(const struct tracee *tracee)
{
	const struct tracee_private *priv = tracee->priv;

	return priv->is_asker || (tracee->care.is_unrestarted && !priv->is_endangered &&
				  !priv->makes_transfers && machine_can_restart());
}

static bool is_to_be_followed(struct tracee *tracee)
{
	const struct tracee_private *priv = tracee->priv;
	const struct tracee *leader;

	if (priv->is_in_call || priv->follows_next_call)
		return true;
	if (!target_may_fail_in_vain(tracee) && !priv->is_endangered)
		return false; /* as most: each that is let go comes by here */
	leader = target_find(priv->target, tracee->tgid);
	return (target_may_fail_in_vain(tracee) && is_woken_in_vain(leader) &&
		target_asker_has_budget(tracee)) ||
	       is_endangered(tracee, leader);
}

static void spend(struct asker_budget *budget, unsigned int most, uint64_t pause_ns)
{
	if (is_over(budget, most, pause_ns))
		*budget = (struct asker_budget){.since_ns = clock_monotonic_ns()};
	budget->nr++;
}

/*
 * The stop at the entry of a call has cleared any request to stop (ptrace_stop() in
 * kernel/signal.c), which the call fails for all the same: so it is followed to its exit.
 */
bool target_follows_asker(struct tracee *tracee)
{
	struct tracee_private *priv = tracee->priv;

	priv->is_followed_asker = is_to_be_followed(tracee);
	return priv->is_followed_asker;
}

static void list_endangered(struct tracee *tracee)
{
	struct target *target = tracee->priv->target;

	ARRAY_GROW(target->endangered, target->nr_endangered, target->cap_endangered);
	tracee->priv->endangered_at = target->nr_endangered;
	target->endangered[target->nr_endangered++] = tracee;
	tracee->priv->is_endangered = true;
	target->any_unrestarted = true;
}

void target_note_endangered(struct tracee *tracee)
{
	tracee->priv->is_suspected = false;
	if (!tracee->priv->is_endangered && !tracee->priv->is_unlinked)
		list_endangered(tracee);
}

void target_note_suspect(struct tracee *tracee)
{
	if (tracee->priv->is_endangered || tracee->priv->is_unlinked)
		return;
	tracee->priv->is_suspected = true;
	list_endangered(tracee);
}

void target_forget_endangered(struct tracee *tracee)
{
	struct target *target = tracee->priv->target;
	struct tracee *last;

	if (!tracee->priv->is_endangered)
		return;
	last = target->endangered[--target->nr_endangered];
	target->endangered[tracee->priv->endangered_at] = last;
	last->priv->endangered_at = tracee->priv->endangered_at;
	tracee->priv->is_endangered = tracee->priv->is_suspected = false;
	tracee->priv->blocked_asleep = 0;
}

static void note_danger(struct tracee *leader, int signal, uint64_t length_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!leader)
		return;
	if (now_ns >= leader->priv->endangered_until_ns)
		leader->priv->endangering = 0;
	leader->priv->endangering |= target_signal_bit(signal);
	leader->priv->endangered_until_ns =
		max_u64(leader->priv->endangered_until_ns, now_ns + length_ns);
}

static void follow_next_call(struct tracee *tracee)
{
	tracee->priv->follows_next_call = true;
	target_stop_to_repair(tracee);
}

static bool follow_endangered(const struct target *target, pid_t tgid, int signal,
			      bool suspects_too)
{
	bool any = false;

	for (size_t i = 0; i < target->nr_endangered; i++) {
		struct tracee *tracee = target->endangered[i];
		enum danger danger;

		if (tracee->tgid != tgid || tracee->listening ||
		    (tracee->priv->is_suspected && (!suspects_too || makes_many_calls(tracee))))
			continue;
		danger = target_danger_of(tracee, signal);
		if (danger == DANGER_NOW)
			follow_next_call(tracee);
		any |= danger != DANGER_NONE;
	}
	return any;
}

bool target_follow_endangered(const struct target *target, pid_t tgid)
{
	note_danger(target_find(target, tgid), SIGCHLD, ENDANGERED_NS);
	return follow_endangered(target, tgid, SIGCHLD, false);
}

bool target_follow_parent(struct tracee *parent)
{
	if (!target_sleeps_in_danger(parent))
		return false;
	target_note_endangered(parent);
	follow_next_call(parent);
	return true;
}

bool target_follow_suspects(const struct target *target, pid_t tgid)
{
	note_danger(target_find(target, tgid), SIGCHLD, ENDANGERED_NS);
	return follow_endangered(target, tgid, SIGCHLD, true);
}

void target_follow_signalled(const struct target *target, pid_t tgid, int signal)
{
	note_danger(target_find(target, tgid), signal, SIGNALLED_NS);
	follow_endangered(target, tgid, signal, true);
}

bool target_any_endangered(const struct target *target, pid_t tgid)
{
	for (size_t i = 0; i < target->nr_endangered; i++) {
		if (target->endangered[i]->tgid == tgid)
			return true;
	}
	return false;
}

/* Until a child that parts has died they would have to be followed all the same. */
static bool makes_any_many_calls(const struct target *target, pid_t tgid)
{
	for (size_t i = 0; i < target->nr_endangered; i++) {
		struct tracee *tracee = target->endangered[i];

		if (tracee->tgid == tgid && is_known_endangered(tracee) &&
		    makes_many_calls(tracee) && !target_blocks(tracee, target_signal_bit(SIGCHLD)))
			return true;
	}
	return false;
}

bool target_child_may_part(const struct target *target, pid_t tgid)
{
	return !machine_can_restart() ||
	       (!target_follow_endangered(target, tgid) && !makes_any_many_calls(target, tgid));
}

/*
 * Each that comes while another is on its way may wake somebody in vain: 2 to 14 calls failed of
 * 4,600 such signals, 500 a second; at ten times fewer a second a hundred times fewer. It is worth
 * a stop of each sleeper, once, that it is followed from then on.
 */
#define MANY_VAIN_NS (10 * NS_PER_MS)
/* From one to the next; to find it, all are gone through. */
#define ROUSE_GAP_NS	    (5 * NS_PER_MS)
#define ROUSE_GAP_OF_ONE_NS (20 * NS_PER_US)

static void rouse(struct tracee *leader, const struct tracee *taker, uint64_t now_ns)
{
	struct target *target = leader->priv->target;

	if (leader->priv->vain_gap_ns >= MANY_VAIN_NS || !machine_can_restart() ||
	    now_ns < target->rouse_again_ns)
		return;
	target->rouse_again_ns = now_ns + ROUSE_GAP_NS + target->nr_tracees * ROUSE_GAP_OF_ONE_NS;
	target_rouse_one(target, taker);
}

static void follow_askers(struct tracee *leader, uint64_t now_ns)
{
	note_gap(leader, now_ns);
	if (machine_can_restart())
		target_stop_unfollowed_askers(leader->priv->target, leader->tgid);
}

void target_child_parts(const struct target *target, pid_t tgid)
{
	struct tracee *leader = target_find(target, tgid);
	uint64_t now_ns = clock_monotonic_ns();

	if (!leader)
		return;
	leader->priv->parted_ns = now_ns;
	follow_askers(leader, now_ns);
}

/*
 * Nobody is woken in vain then. But who lets signals in by a mask of its own is followed for what
 * waits at the entry of its calls.
 */
static bool is_nobody_elses(const struct tracee *taker)
{
	return !taker->priv->lets_in && target_is_only_thread(taker);
}

bool target_signal_to_nobody(const struct target *target, const struct tracee *taker, int signal)
{
	struct tracee *leader = target_find(target, taker->tgid);
	uint64_t now_ns;

	if (!leader || (!target->any_unrestarted && !target->nr_unmet) || is_nobody_elses(taker) ||
	    !target_is_only_ours(taker->tid, signal))
		return false;
	target_meet_sleepers(target, taker->tgid);
	if (!target->any_unrestarted)
		return false;
	now_ns = clock_monotonic_ns();
	follow_askers(leader, now_ns);
	rouse(leader, taker, now_ns);
	return true;
}

/* In one of those, or another that we may have broken off: not each that fails so would. */
static bool may_be_our_eintr(pid_t tid, const struct machine_regs *regs)
{
	struct proc_syscall syscall;
	struct target_care care;

	if (!machine_syscall(regs, &syscall))
		return false;
	care = target_care_of(tid, &syscall);
	return care.asks_for_signals || care.is_unrestarted;
}

static bool is_to_be_repaired(struct tracee *tracee)
{
	struct machine_regs regs;

	if (!target_get_regs(tracee->tid, &regs))
		return false;
	switch (machine_broken_call(&regs)) {
	case MACHINE_CALL_EINTR:
		return may_be_our_eintr(tracee->tid, &regs);
	case MACHINE_CALL_BLOCK:
		return target_may_not_restart(tracee);
	default:
		return false;
	}
}

/* Says whether it is at the entry of a call, and of which. */
static bool read_entry(pid_t tid, struct proc_syscall *syscall)
{
	struct __ptrace_syscall_info info = {.op = PTRACE_SYSCALL_INFO_NONE};

	ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info);
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return false;
	*syscall = (struct proc_syscall){.kind = PROC_SYSCALL_INSIDE, .nr = (int64_t)info.entry.nr};
	static_assert(sizeof(info.entry.args) == sizeof(syscall->args), "as many, of 64 bits each");
	memcpy(syscall->args, info.entry.args, sizeof(syscall->args));
	return true;
}

/*
 * Let go from its entry it takes a moment until it runs, in which nothing tells that it is in a
 * call: asked to stop then, it would begin a transfer and have it cut.
 */
static void note_entry(struct tracee *tracee)
{
	struct tracee_private *priv = tracee->priv;
	struct target_care care = {0};
	struct proc_syscall syscall;

	priv->is_in_call = read_entry(tracee->tid, &syscall);
	if (priv->is_in_call) {
		target_note_waiting(tracee, &syscall);
		care = target_care_of(tracee->tid, &syscall);
	}
	if (care.is_long_transfer)
		target_met_in_transfer(tracee);
	priv->entered_spoilt = care.spoilt_cpu_ns;
	priv->entered_restarted = !care.is_unrestarted;
}

void target_asker_stop(struct tracee *tracee)
{
	struct tracee_private *priv = tracee->priv;

	if (target_may_fail_in_vain(tracee)) {
		spend(&priv->budget, STOPS_OF_ONE, LEFT_NS);
		spend(&priv->target->asker_budget, STOPS_OF_ALL, BUDGET_NS);
	}
	if (priv->is_endangered)
		spend(&priv->danger_budget, STOPS_OF_ENDANGERED, BUDGET_NS);
	note_entry(tracee);
	priv->follows_next_call = false;
	/* Known yet, when that call began, while it is repaired. */
	if (!priv->is_in_call && is_to_be_repaired(tracee)) {
		target_note_woken(tracee);
		target_ask_to_stop(tracee);
		return;
	}
	priv->entered_ns = priv->is_in_call ? clock_monotonic_ns() : 0;
	priv->knows_waiting &= priv->is_in_call;
}
