// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracee/machine.h"

#if defined(__x86_64__)

#include "proc/task.h"
#include "snapshot/snapshot.h"

#define EINTR_CODE 4

/* `syscall`, `int $0x80` and `sysenter` are all two bytes long. */
#define SYSCALL_BYTES 2

/* In the order of the psABI's DWARF numbers, fig. 3.36. */
void machine_fill_snapshot(const struct user_regs_struct *regs, struct snapshot *snapshot,
			   struct proc_syscall *syscall)
{
	const uint64_t values[] = {
		regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi,
		regs->rbp, regs->rsp, regs->r8,	 regs->r9,  regs->r10, regs->r11,
		regs->r12, regs->r13, regs->r14, regs->r15, regs->rip,
	};

	for (unsigned int i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		regs_set(&snapshot->regs, i, values[i]);
	snapshot->thread_pointer = regs->fs_base;
	if ((int64_t)regs->orig_rax < 0)
		return;
	snapshot->syscall_nr = (int32_t)regs->orig_rax;
	*syscall = (struct proc_syscall){
		.kind = PROC_SYSCALL_INSIDE,
		.nr = (int64_t)regs->orig_rax,
		.args = {regs->rdi, regs->rsi, regs->rdx, regs->r10, regs->r8, regs->r9},
		.sp = regs->rsp,
		.pc = regs->rip,
	};
}

enum machine_call machine_call(const struct user_regs_struct *regs)
{
	if ((int64_t)regs->orig_rax < 0)
		return MACHINE_CALL_NONE;
	switch (-(int64_t)regs->rax) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
		return MACHINE_CALL_RESTARTS;
	case ERESTART_RESTARTBLOCK:
		return MACHINE_CALL_RESTART_BLOCK;
	case EINTR_CODE:
		return MACHINE_CALL_EINTR;
	default:
		return MACHINE_CALL_COMPLETE;
	}
}

/*
 * handle_signal() and arch_do_signal_or_restart() in arch/x86/kernel/signal.c look at rax after
 * the tracer has detached: with this value they go back to the call, or, if a handler runs
 * first, turn it into EINTR whatever flags the handler has.
 */
bool machine_restart_call(struct user_regs_struct *regs, enum machine_call call)
{
	if (call == MACHINE_CALL_EINTR) {
		regs->rax = (unsigned long long)-ERESTARTNOHAND;
		return true;
	}
	regs->rip -= SYSCALL_BYTES;
	regs->rax = regs->orig_rax;
	regs->orig_rax = (unsigned long long)-1;
	return true;
}

#endif
