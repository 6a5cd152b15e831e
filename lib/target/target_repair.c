// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "proc/read.h"
#include "target/target_priv.h"
#include "target/target_regs.h"

#define SECCOMP_FILTER 2

static uint64_t signal_bit(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

static bool would_be_noticed(enum machine_broken_call call, const struct proc_status *status)
{
	if (call == MACHINE_CALL_EINTR)
		return true;
	/* An allow-list may lack restart_syscall(2): the program would die of SIGSYS. */
	return call == MACHINE_CALL_BLOCK && status->seccomp == SECCOMP_FILTER;
}

static uint64_t pending_signals(const struct proc_status *status)
{
	return (status->pending_thread | status->pending_process) & ~status->blocked;
}

static void rewind_held(struct target *target, struct tracee *tracee, struct machine_regs *regs)
{
	struct machine_regs before = *regs;

	if (!machine_rewind_call(regs) || !target_set_regs(tracee->tid, regs))
		return;
	tracee->priv->before = before;
	tracee->priv->repaired = true;
	target->stats.nr_repairs++;
}

void target_repair_interrupted(struct target *target, struct tracee *tracee)
{
	struct machine_regs regs;
	struct proc_status status;
	enum machine_broken_call call;

	if (!target_get_regs(tracee->tid, &regs))
		return;
	/*
	 * Stopped again before it could re-execute the call, as happens when an interrupt is
	 * renewed after an ignored signal: a handler run next must still see the EINTR.
	 */
	if (tracee->priv->repaired && machine_stands_rewound(&regs, &tracee->priv->before))
		return;
	tracee->priv->repaired = false;
	call = machine_broken_call(&regs);
	if (call != MACHINE_CALL_EINTR && call != MACHINE_CALL_BLOCK)
		return;
	if (!proc_read_status(tracee->tid, &status) || !would_be_noticed(call, &status))
		return;
	/* A signal is on its way: it may be what broke the call off, and has its own stop. */
	if (pending_signals(&status))
		return;
	rewind_held(target, tracee, &regs);
}

/* A caught signal at a call that we had rewound: its handler must see the EINTR. */
static void undo(struct target *target, struct tracee *tracee, const struct machine_regs *regs)
{
	if (!machine_stands_rewound(regs, &tracee->priv->before))
		return;
	if (target_set_regs(tracee->tid, &tracee->priv->before))
		target->stats.nr_undone++;
}

void target_repair_for_signal(struct target *target, struct tracee *tracee, int signal)
{
	bool was_repaired = tracee->priv->repaired;
	struct machine_regs regs;
	struct proc_status status;
	enum machine_broken_call call;

	tracee->priv->repaired = false;
	if (!target_get_regs(tracee->tid, &regs))
		return;
	call = machine_broken_call(&regs);
	if (!was_repaired && call != MACHINE_CALL_EINTR && call != MACHINE_CALL_BLOCK)
		return;
	if (!proc_read_status(tracee->tid, &status))
		return;
	if (status.caught & signal_bit(signal)) {
		if (was_repaired)
			undo(target, tracee, &regs);
		return;
	}
	/*
	 * An ignored signal does not even wake an untraced thread. Still rewound from
	 * before: keep that repair. Else make one, unless a caught signal comes next, whose
	 * handler is to see the EINTR: a repair that has to be undone is lost with us.
	 */
	if (was_repaired && machine_stands_rewound(&regs, &tracee->priv->before))
		tracee->priv->repaired = true;
	else if (would_be_noticed(call, &status) && !(pending_signals(&status) & status.caught))
		rewind_held(target, tracee, &regs);
}
