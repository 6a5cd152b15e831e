// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/signal_frame.h"

/*
 * struct rt_sigframe (arch/x86/include/asm/sigframe.h): the return address to the restorer, then
 * the ucontext: flags, link, and the alternate stack's start, flags and size; further on the
 * registers. The ABI's alignment puts the address behind the first word at a multiple of 16.
 */
const struct signal_frame_layout signal_frame_x86_64 = {
	.stack_start = 24, .stack_size = 40, .sp = 168, .nr_bytes = 176, .below_aligned = 8};

#if defined(__x86_64__)

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "proc/task.h"
#include "snapshot/snapshot.h"
#include "target/machine.h"

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

int64_t machine_syscall_result(const struct machine_regs *regs)
{
	return (int64_t)regs->raw.rax;
}

void machine_set_result(struct machine_regs *regs, int64_t result)
{
	regs->raw.rax = (unsigned long long)result;
}

void machine_set_argument(struct machine_regs *regs, unsigned int which, uint64_t value)
{
	struct user_regs_struct *raw = &regs->raw;
	unsigned long long *const arguments[] = {&raw->rdi, &raw->rsi, &raw->rdx,
						 &raw->r10, &raw->r8,  &raw->r9};

	*arguments[which] = value;
}

enum machine_broken_call machine_broken_call(const struct machine_regs *regs)
{
	if ((int64_t)regs->raw.orig_rax < 0)
		return MACHINE_CALL_NONE;
	switch (-(int64_t)regs->raw.rax) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
		return MACHINE_CALL_RESTART;
	case ERESTART_RESTARTBLOCK:
		return MACHINE_CALL_BLOCK;
	case EINTR_CODE:
		return MACHINE_CALL_EINTR;
	default:
		return MACHINE_CALL_NONE;
	}
}

/*
 * handle_signal() and arch_do_signal_or_restart() in arch/x86/kernel/signal.c look at rax after
 * the tracer has let go: with this value they go back to the call, or, if a handler runs
 * first, turn it into EINTR whatever flags the handler has.
 */
bool machine_can_restart(void)
{
	return true;
}

bool machine_restart_call(struct machine_regs *regs)
{
	regs->raw.rax = (unsigned long long)-ERESTARTNOHAND;
	return true;
}

void machine_end_call(struct machine_regs *regs, int result)
{
	regs->raw.rax = (unsigned long long)result;
	regs->raw.orig_rax = (unsigned long long)-1; /* in no call: nothing to restart */
}

/* All that a system call leaves as it was: its arguments, and what belongs to the caller. */
static bool same_but_for_the_call(const struct user_regs_struct *a,
				  const struct user_regs_struct *b)
{
	return a->rsp == b->rsp && a->rdi == b->rdi && a->rsi == b->rsi && a->rdx == b->rdx &&
	       a->r10 == b->r10 && a->r8 == b->r8 && a->r9 == b->r9 && a->rbx == b->rbx &&
	       a->rbp == b->rbp && a->r12 == b->r12 && a->r13 == b->r13 && a->r14 == b->r14 &&
	       a->r15 == b->r15;
}

/* As at the exit, the instruction pointer is behind the instruction. */
bool machine_enters(const struct machine_regs *now, const struct machine_regs *broken)
{
	return now->raw.rip == broken->raw.rip && now->raw.orig_rax == broken->raw.orig_rax &&
	       same_but_for_the_call(&now->raw, &broken->raw);
}

bool machine_is_asked(const struct machine_regs *now, const struct machine_regs *broken)
{
	return now->raw.rip == broken->raw.rip && now->raw.orig_rax == broken->raw.orig_rax &&
	       (int64_t)now->raw.rax == -ERESTARTNOHAND &&
	       same_but_for_the_call(&now->raw, &broken->raw);
}

bool machine_stands_restarted(const struct machine_regs *now, const struct machine_regs *broken)
{
	/* The number of the call is kept until the thread next enters the kernel. */
	bool is_outside =
		(int64_t)now->raw.orig_rax == -1 || now->raw.orig_rax == broken->raw.orig_rax;
	bool will_call = now->raw.rax == broken->raw.orig_rax ||
			 (machine_broken_call(broken) == MACHINE_CALL_BLOCK &&
			  now->raw.rax == SYS_restart_syscall);

	return is_outside && will_call && now->raw.rip == broken->raw.rip - SYSCALL_BYTES &&
	       same_but_for_the_call(&now->raw, &broken->raw);
}

/* What is left of its number is that of the call. */
bool machine_takes_back_restart(struct machine_regs *regs)
{
	if ((int64_t)regs->raw.orig_rax < 0 || regs->raw.rax != SYS_restart_syscall ||
	    regs->raw.orig_rax == SYS_restart_syscall)
		return false;
	regs->raw.rip += SYSCALL_BYTES;
	regs->raw.rax = (unsigned long long)-ERESTART_RESTARTBLOCK;
	return true;
}

/* When the handler begins, the registers stand before the instruction of a call to be restarted. */
void machine_step_over_call(void *ucontext, long nr, unsigned long first_argument)
{
	static const uint8_t syscall_code[SYSCALL_BYTES] = {0x0f, 0x05};
	greg_t *regs = ((ucontext_t *)ucontext)->uc_mcontext.gregs;

	if (regs[REG_RAX] != nr || (unsigned long)regs[REG_RDI] != first_argument ||
	    memcmp((const void *)regs[REG_RIP], syscall_code, SYSCALL_BYTES) != 0)
		return;
	regs[REG_RIP] += SYSCALL_BYTES;
	regs[REG_RAX] = -EINTR;
}

#endif
