// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracee/signal_frame.h"

/*
 * struct rt_sigframe (arch/x86/include/asm/sigframe.h): the return address to the restorer, then
 * the ucontext: flags, link, and the alternate stack's start, flags and size; further on the
 * registers. The ABI's alignment puts the address behind the first word at a multiple of 16.
 */
const struct signal_frame_layout signal_frame_x86_64 = {
	.stack_start = 24, .stack_size = 40, .sp = 168, .nr_bytes = 176, .below_aligned = 8};

#if defined(__x86_64__)

#include "proc/task.h"
#include "snapshot/snapshot.h"
#include "tracee/machine.h"

/* Restart codes of the kernel (include/linux/errno.h); a tracer sees them in rax. */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516
#define EINTR_CODE	      4

/* `syscall`, `int $0x80` and `sysenter` are all two bytes long. */
#define SYSCALL_BYTES 2

size_t machine_red_zone_bytes(void)
{
	return 128;
}

/* The order is that of the psABI's DWARF numbers, fig. 3.36. */
void machine_fill_snapshot(const struct machine_regs *regs, struct snapshot *snapshot)
{
	const struct user_regs_struct *raw = &regs->raw;
	const uint64_t values[] = {
		raw->rax, raw->rdx, raw->rcx, raw->rbx, raw->rsi, raw->rdi,
		raw->rbp, raw->rsp, raw->r8,  raw->r9,	raw->r10, raw->r11,
		raw->r12, raw->r13, raw->r14, raw->r15, raw->rip,
	};

	for (unsigned int i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		regs_set(&snapshot->regs, i, values[i]);
	snapshot->syscall_nr =
		(int64_t)raw->orig_rax >= 0 ? (int32_t)raw->orig_rax : SNAPSHOT_NO_SYSCALL;
}

uint64_t machine_thread_pointer(const struct machine_regs *regs)
{
	return regs->raw.fs_base;
}

bool machine_struck_sp(const uint8_t *bytes, size_t nr_bytes, uint64_t start, uint64_t *sp)
{
	return signal_frame_find(&signal_frame_x86_64, bytes, nr_bytes, start, sp);
}

bool machine_syscall(const struct machine_regs *regs, struct proc_syscall *syscall)
{
	const struct user_regs_struct *raw = &regs->raw;

	if ((int64_t)raw->orig_rax < 0)
		return false;
	*syscall = (struct proc_syscall){
		.kind = PROC_SYSCALL_INSIDE,
		.nr = (int64_t)raw->orig_rax,
		.args = {raw->rdi, raw->rsi, raw->rdx, raw->r10, raw->r8, raw->r9},
		.sp = raw->rsp,
		.pc = raw->rip,
	};
	return true;
}

enum machine_call machine_call(const struct machine_regs *regs)
{
	if ((int64_t)regs->raw.orig_rax < 0)
		return MACHINE_CALL_NONE;
	switch (-(int64_t)regs->raw.rax) {
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
bool machine_restart_call(struct machine_regs *regs)
{
	regs->raw.rax = (unsigned long long)-ERESTARTNOHAND;
	return true;
}

bool machine_rewind_call(struct machine_regs *regs)
{
	regs->raw.rip -= SYSCALL_BYTES;
	regs->raw.rax = regs->raw.orig_rax;
	regs->raw.orig_rax = (unsigned long long)-1;
	return true;
}

#endif
