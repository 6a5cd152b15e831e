// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracee/signal_frame.h"

/*
 * struct rt_sigframe (arch/arm64/kernel/signal.c): 128 bytes of siginfo, then the ucontext:
 * flags, link, and the alternate stack's start, flags and size; aligned to 16, 176 bytes from
 * its start, the sigcontext: the fault's address, x0 to x30, the stack pointer.
 */
#define UCONTEXT   128
#define SIGCONTEXT (UCONTEXT + 176)

const struct signal_frame_layout signal_frame_aarch64 = {.stack_start = UCONTEXT + 16,
							 .stack_size = UCONTEXT + 32,
							 .sp = SIGCONTEXT + 8 + 31 * 8,
							 .nr_bytes = SIGCONTEXT + 8 + 32 * 8};

#if defined(__aarch64__)

#include "snapshot/snapshot.h"
#include "tracee/machine.h"

/* Restart codes of the kernel (include/linux/errno.h); a tracer sees them in x0. */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

#define DWARF_SP 31
#define DWARF_PC 32

size_t machine_red_zone_bytes(void)
{
	return 0; /* AAPCS64 has none */
}

void machine_fill_snapshot(const struct machine_regs *regs, struct snapshot *snapshot)
{
	for (unsigned int i = 0; i < 31; i++)
		regs_set(&snapshot->regs, i, regs->raw.regs[i]);
	regs_set(&snapshot->regs, DWARF_SP, regs->raw.sp);
	regs_set(&snapshot->regs, DWARF_PC, regs->raw.pc);
	/* x8 keeps the number after the call too: only a broken-off call proves to be in one. */
	snapshot->syscall_nr = machine_call(regs) == MACHINE_CALL_NONE ? SNAPSHOT_NO_SYSCALL
								       : (int32_t)regs->raw.regs[8];
}

uint64_t machine_thread_pointer(const struct machine_regs *regs)
{
	(void)regs; /* tpidr_el0 is in a register set of its own */
	return 0;
}

bool machine_struck_sp(const uint8_t *bytes, size_t nr_bytes, uint64_t start, uint64_t *sp)
{
	return signal_frame_find(&signal_frame_aarch64, bytes, nr_bytes, start, sp);
}

/* x8 stays what it was long after a call, and x0 is the result by now. */
bool machine_syscall(const struct machine_regs *regs, struct proc_syscall *syscall)
{
	(void)regs;
	(void)syscall;
	return false;
}

enum machine_call machine_call(const struct machine_regs *regs)
{
	switch (-(int64_t)regs->raw.regs[0]) {
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
bool machine_restart_call(struct machine_regs *regs)
{
	(void)regs;
	return false;
}

bool machine_rewind_call(struct machine_regs *regs)
{
	(void)regs;
	return false;
}

#endif
