// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracee/machine.h"

#if defined(__aarch64__)

#include "snapshot/snapshot.h"

#define DWARF_SP 31
#define DWARF_PC 32

/*
 * The thread pointer, tpidr_el0, is in another register set. x8 keeps a call's number long after
 * the call, and x0 is the result by now.
 */
void machine_fill_snapshot(const struct user_regs_struct *regs, struct snapshot *snapshot,
			   struct proc_syscall *syscall)
{
	(void)syscall;
	for (unsigned int i = 0; i < 31; i++)
		regs_set(&snapshot->regs, i, regs->regs[i]);
	regs_set(&snapshot->regs, DWARF_SP, regs->sp);
	regs_set(&snapshot->regs, DWARF_PC, regs->pc);
	/* Only an interrupted call proves that the thread is in one. */
	if (machine_call(regs) != MACHINE_CALL_NONE)
		snapshot->syscall_nr = (int32_t)regs->regs[8];
}

/* An exception leaves no mark in what a tracer can read. */
bool machine_is_in_fault(struct tracee *tracee, const struct user_regs_struct *regs)
{
	(void)tracee;
	(void)regs;
	return false;
}

enum machine_call machine_call(const struct user_regs_struct *regs)
{
	switch (-(int64_t)regs->regs[0]) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
		return MACHINE_CALL_RESTARTS;
	case ERESTART_RESTARTBLOCK:
		return MACHINE_CALL_RESTART_BLOCK;
	default:
		/* EINTR itself cannot be told from a plain result that equals -4. */
		return MACHINE_CALL_NONE;
	}
}

/* The kernel has decided before it shows the thread (do_signal() in arch/arm64/kernel/signal.c). */
bool machine_restart_call(struct user_regs_struct *regs, enum machine_call call)
{
	(void)regs;
	(void)call;
	return false;
}

#endif
