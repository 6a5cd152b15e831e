// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracee/machine.h"

#if defined(__x86_64__)

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "proc/task.h"
#include "snapshot/snapshot.h"
#include "tracee/tracee_priv.h"

/* `syscall`, `int $0x80` and `sysenter` are all two bytes long. */
#define SYSCALL_BYTES 2

/* In the order of the psABI's DWARF numbers, fig. 3.36. */
void machine_fill_snapshot(struct tracee *tracee, const struct user_regs_struct *regs,
			   struct snapshot *snapshot, struct proc_syscall *syscall)
{
	const uint64_t values[] = {
		regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi,
		regs->rbp, regs->rsp, regs->r8,	 regs->r9,  regs->r10, regs->r11,
		regs->r12, regs->r13, regs->r14, regs->r15, regs->rip,
	};

	(void)tracee;
	for (unsigned int i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		regs_set(&snapshot->regs, i, values[i]);
	snapshot->thread_pointer = regs->fs_base;
	snapshot->data_pointer = regs->fs_base;
	if ((int64_t)regs->orig_rax < 0)
		return;
	snapshot->syscall_nr = (int32_t)regs->orig_rax;
	if (machine_call(regs) > MACHINE_CALL_COMPLETE)
		snapshot->state = THREAD_STATE_SLEEPING;
	*syscall = (struct proc_syscall){
		.kind = PROC_SYSCALL_INSIDE,
		.nr = (int64_t)regs->orig_rax,
		.args = {regs->rdi, regs->rsi, regs->rdx, regs->r10, regs->r8, regs->r9},
		.sp = regs->rsp,
		.pc = regs->rip,
	};
}

#define REX_PREFIXES	0x40
#define REX_PREFIX_MASK 0xf0
#define RESUME_FLAG	(1ULL << 16)
#define BYTES_OF_PAGE	4096

static bool is_prefix(uint8_t byte)
{
	static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67};

	for (size_t i = 0; i < sizeof(prefixes); i++)
		if (byte == prefixes[i])
			return true;
	return (byte & REX_PREFIX_MASK) == REX_PREFIXES;
}

/* The operation of a string instruction that repeats, for either width; 0: it is another one. */
static uint8_t repeated_operation(const uint8_t *code, size_t nr_bytes)
{
	bool repeats = false;

	for (size_t i = 0; i < nr_bytes; i++) {
		if (code[i] == 0xf2 || code[i] == 0xf3)
			repeats = true;
		else if (!is_prefix(code[i]))
			return repeats ? code[i] & 0xfe : 0;
	}
	return 0;
}

/* It faults where it comes to another page; both addresses move on with it. */
static bool is_at_page(uint8_t operation, const struct user_regs_struct *regs)
{
	bool reads = regs->rsi % BYTES_OF_PAGE == 0, writes = regs->rdi % BYTES_OF_PAGE == 0;

	switch (operation) {
	case 0xa4: /* movs */
	case 0xa6: /* cmps */
		return reads || writes;
	case 0xac: /* lods */
		return reads;
	case 0xaa: /* stos */
	case 0xae: /* scas */
		return writes;
	default:
		return true;
	}
}

/*
 * The processor sets the resume flag in what it stores of the flags at a fault, and not at an
 * interrupt, except amid a string instruction that repeats (Intel SDM, volume 3, 18.3.1.1).
 */
bool machine_is_in_fault(struct tracee *tracee, const struct user_regs_struct *regs)
{
	uint8_t code[8];

	/* A program that serves its own code may have taken it away: ptrace(2) would wait for it.
	 */
	if (!(regs->eflags & RESUME_FLAG) ||
	    !tracee_read_present(tracee->tid, regs->rip, code, sizeof(code)))
		return false;
	return is_at_page(repeated_operation(code, sizeof(code)), regs);
}

enum machine_call machine_call(const struct user_regs_struct *regs)
{
	if ((int64_t)regs->orig_rax < 0)
		return MACHINE_CALL_NONE;
	switch (-(int64_t)regs->rax) {
	case EACCES:
	case EPERM:
		return regs->orig_rax == SYS_execve || regs->orig_rax == SYS_execveat
			       ? MACHINE_CALL_REFUSED
			       : MACHINE_CALL_COMPLETE;
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
		return MACHINE_CALL_RESTARTS;
	case ERESTART_RESTARTBLOCK:
		return MACHINE_CALL_RESTART_BLOCK;
	case EINTR:
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

/* The kernel decides after the tracer has detached (machine_restart_call()). */
bool machine_rewind_call(pid_t tid, struct user_regs_struct *regs, int *signal)
{
	(void)tid;
	(void)regs;
	(void)signal;
	return false;
}

pid_t machine_begin_again(pid_t tid, const struct user_regs_struct *begun,
			  const struct user_regs_struct *ended, machine_await await, void *context,
			  int *status)
{
	(void)tid;
	(void)begun;
	(void)ended;
	(void)await;
	(void)context;
	(void)status;
	return 0;
}

#endif
