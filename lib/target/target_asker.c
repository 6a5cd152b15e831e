// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/ptrace.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "target/target_priv.h"
#include "target/target_regs.h"

/*
 * Who begins a call that asks for waiting signals itself, and finds one that another thread takes
 * before it could, fails with EINTR and comes to no stop: get_signal() in kernel/signal.c has
 * nothing to tell. Where we choose when a SIGCHLD is sent such threads are stopped
 * (target_bystander.c); that of a child that parted (target_parting.c) comes when it likes: of
 * 400 such calls beside 2,000 children a second one failed so.
 *
 * So while a process has such children, its threads that make such calls are let go to system call
 * stops. At the exit of one that fails with EINTR the thread is asked to stop once more, where it
 * is repaired as ever: the kernel decides whether a handler runs. Who is not let go so yet is
 * stopped for that when it is found awake as a child parts; asleep, its call would begin anew.
 */

/* So long after the last of them parted. */
#define FOLLOWED_NS NS_PER_SEC

/*
 * Each stop takes 12 us of a CPU, ours and the thread's: 2 % of one in all. Who makes hundreds of
 * calls a second would need more, and is left alone then.
 */
#define BUDGET_NS    (100 * NS_PER_MS)
#define STOPS_OF_ONE 40
#define STOPS_OF_ALL 160
#define LEFT_NS	     NS_PER_SEC

static bool has_parting_children(const struct tracee *asker)
{
	const struct tracee *leader = target_find(asker->priv->target, asker->tgid);

	return leader && leader->priv->parted_ns &&
	       clock_monotonic_ns() - leader->priv->parted_ns < FOLLOWED_NS;
}

static bool has_left(struct asker_budget *budget, unsigned int most, uint64_t pause_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - budget->since_ns >= (budget->nr < most ? BUDGET_NS : pause_ns))
		*budget = (struct asker_budget){.since_ns = now_ns};
	return budget->nr < most;
}

bool target_has_asker_budget(struct tracee *asker)
{
	return has_left(&asker->priv->budget, STOPS_OF_ONE, LEFT_NS) &&
	       has_left(&asker->priv->target->asker_budget, STOPS_OF_ALL, BUDGET_NS);
}

/*
 * The stop at the entry of a call has cleared any request to stop (ptrace_stop() in
 * kernel/signal.c), which the call fails for all the same: so it is followed to its exit.
 */
bool target_follows_asker(struct tracee *tracee)
{
	struct tracee_private *priv = tracee->priv;

	priv->is_followed_asker =
		priv->is_asker && (priv->is_in_call || (has_parting_children(tracee) &&
							target_has_asker_budget(tracee)));
	return priv->is_followed_asker;
}

void target_child_parts(const struct target *target, pid_t tgid)
{
	struct tracee *leader = target_find(target, tgid);

	if (!leader)
		return;
	leader->priv->parted_ns = clock_monotonic_ns();
	if (machine_can_restart())
		target_stop_unfollowed_askers(target, tgid);
}

/* In one of those, or another that we may have broken off: not each that fails so would. */
static bool fails_with_eintr(const struct tracee *tracee)
{
	struct machine_regs regs;
	struct proc_syscall syscall;
	struct target_care care;

	if (!target_get_regs(tracee->tid, &regs) ||
	    machine_broken_call(&regs) != MACHINE_CALL_EINTR || !machine_syscall(&regs, &syscall))
		return false;
	care = target_care_of(tracee->tid, &syscall);
	return care.asks_for_signals || care.fails_with_eintr;
}

static bool is_at_entry(pid_t tid)
{
	struct __ptrace_syscall_info info = {.op = PTRACE_SYSCALL_INFO_NONE};

	ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info);
	return info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

void target_asker_stop(struct tracee *tracee)
{
	struct tracee_private *priv = tracee->priv;

	priv->budget.nr++;
	priv->target->asker_budget.nr++;
	priv->is_in_call = is_at_entry(tracee->tid);
	/* Known yet, when that call began, while it is repaired. */
	if (!priv->is_in_call && fails_with_eintr(tracee))
		ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL);
	else
		priv->entered_ns = priv->is_in_call ? clock_monotonic_ns() : 0;
}
