// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracee/machine.h"

#if defined(__aarch64__)

#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "proc/task.h"
#include "snapshot/snapshot.h"
#include "tracee/tracee_priv.h"

#define DWARF_SP 31
#define DWARF_PC 32

#define SVC	  UINT32_C(0xd4000001) /* svc #0 */
#define SVC_BYTES sizeof(uint32_t)
#define CALLS_MAX 4096 /* more than there will be numbers */

/*
 * Before the kernel shows a thread it has forgotten that this was in a call (do_signal() in
 * arch/arm64/kernel/signal.c), and neither registers nor PTRACE_GET_SYSCALL_INFO tell it. But it
 * has decided, too: where the call will be restarted the thread stands at its instruction again,
 * with all of its arguments, and else behind it, with the result.
 */
static void find_call(struct tracee *tracee, const struct user_regs_struct *regs,
		      struct snapshot *snapshot, struct proc_syscall *syscall)
{
	struct {
		uint32_t before, at;
	} code = {0};
	uint64_t nr = regs->regs[8];

	/* At the beginning of a mapping there is nothing before it. */
	if (nr >= CALLS_MAX ||
	    (!tracee_read_present(tracee->tid, regs->pc - SVC_BYTES, &code, sizeof(code)) &&
	     !tracee_read_present(tracee->tid, regs->pc, &code.at, sizeof(code.at))))
		return;
	if (code.at != SVC && code.before != SVC)
		return;
	snapshot->syscall_nr = (int32_t)nr;
	if (code.at == SVC || (int64_t)regs->regs[0] == -EINTR)
		snapshot->state = THREAD_STATE_SLEEPING;
	if (code.at != SVC)
		return; /* its first argument is not known any more */
	/* As a thread that is peeked at in the same call, which is one stack then. */
	regs_set(&snapshot->regs, DWARF_PC, regs->pc + SVC_BYTES);
	*syscall = (struct proc_syscall){
		.kind = PROC_SYSCALL_INSIDE,
		.nr = (int64_t)nr,
		.sp = regs->sp,
		.pc = regs->pc + SVC_BYTES,
	};
	for (unsigned int i = 0; i < sizeof(syscall->args) / sizeof(syscall->args[0]); i++)
		syscall->args[i] = regs->regs[i];
}

/*
 * The address of a thread's data, tpidr_el0, is in another register set: to read that takes one
 * call more. glibc's own pointer lies before it.
 */
static void find_data(const struct tracee *tracee, struct snapshot *snapshot)
{
	uint64_t pointer;
	struct iovec set = {.iov_base = &pointer, .iov_len = sizeof(pointer)};

	if (tracee_wants_context(tracee) &&
	    ptrace(PTRACE_GETREGSET, tracee->tid, (void *)(uintptr_t)NT_ARM_TLS, &set) == 0 &&
	    set.iov_len >= sizeof(pointer))
		snapshot->data_pointer = pointer;
}

void machine_fill_snapshot(struct tracee *tracee, const struct user_regs_struct *regs,
			   struct snapshot *snapshot, struct proc_syscall *syscall)
{
	for (unsigned int i = 0; i < 31; i++)
		regs_set(&snapshot->regs, i, regs->regs[i]);
	regs_set(&snapshot->regs, DWARF_SP, regs->sp);
	regs_set(&snapshot->regs, DWARF_PC, regs->pc);
	find_data(tracee, snapshot);
	find_call(tracee, regs, snapshot, syscall);
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
	(void)regs;
	return MACHINE_CALL_NONE;
}

/* Too late: the kernel has decided, and the first argument of a call that was over is lost. */
bool machine_restart_call(struct user_regs_struct *regs, enum machine_call call)
{
	(void)regs;
	(void)call;
	return false;
}

#endif
