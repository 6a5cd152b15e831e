/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_MACHINE_H
#define PROFC_TARGET_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct proc_syscall;
struct snapshot;

/*
 * What differs between machines: target_x86_64.c and target_aarch64.c implement it,
 * nothing else in this room names a register.
 */

/* The general registers as PTRACE_GETREGSET hands them over. */
struct machine_regs {
#if defined(__x86_64__)
	struct user_regs_struct raw;
#elif defined(__aarch64__)
	struct user_regs_struct raw; /* x0-x30, sp, pc, pstate */
#else
#error "profc has no ptrace support for this machine"
#endif
};

/* Bytes below the stack pointer that a leaf function may use (psABI x86-64 3.2.2). */
size_t machine_red_zone_bytes(void);

/* Put all registers into the snapshot, with the system call a stopped thread is in. */
void machine_fill_snapshot(const struct machine_regs *regs, struct snapshot *snapshot);

/* Where the thread keeps its own data (its TCB); 0: not among these registers. */
uint64_t machine_thread_pointer(const struct machine_regs *regs);

/*
 * Where the innermost signal handler of a thread that runs on an alternate stack struck: the
 * stack pointer that the kernel keeps in the signal frame, if the copied bytes of the stack,
 * `nr_bytes` from `start`, show that frame. By what it says of the alternate stack itself
 * (uc_stack), which has to contain it.
 */
bool machine_struck_sp(const uint8_t *bytes, size_t nr_bytes, uint64_t start, uint64_t *sp);

/* The system call that a stopped thread is about to leave; false where that cannot be known. */
bool machine_syscall(const struct machine_regs *regs, struct proc_syscall *syscall);

/* What that system call will return. */
int64_t machine_syscall_result(const struct machine_regs *regs);

/* Give it another result, or argument; it stays the call that it is. */
void machine_set_result(struct machine_regs *regs, int64_t result);
void machine_set_argument(struct machine_regs *regs, unsigned int which, uint64_t value);

/* How a system call that was broken off will look to the program. */
enum machine_broken_call {
	MACHINE_CALL_NONE,    /* not in a system call, or it completed */
	MACHINE_CALL_RESTART, /* the kernel restarts it by itself, unnoticed */
	MACHINE_CALL_BLOCK,   /* the kernel goes on through restart_syscall(2) */
	MACHINE_CALL_EINTR,   /* the program would see EINTR */
};

enum machine_broken_call machine_broken_call(const struct machine_regs *regs);
/* Can it be made to take one up again that it would see EINTR of? */
bool machine_can_restart(void);
/*
 * Make a held thread take its broken-off call up again, unless a handler runs first, which then
 * sees EINTR. The kernel decides between the two on the thread's way out, whether or not we
 * live to see it. False where the machine cannot.
 */
bool machine_restart_call(struct machine_regs *regs);
/* Give a broken-off call its result for good, whatever comes next; negative: -errno. */
void machine_end_call(struct machine_regs *regs, int result);
/* Is it at the entry of the call that `broken` shows broken off? */
bool machine_enters(const struct machine_regs *now, const struct machine_regs *broken);
/* Is it held in the very call that `broken` shows broken off, now asked to take it up again? */
bool machine_is_asked(const struct machine_regs *now, const struct machine_regs *broken);
/* Is it back at the instruction of the call that `broken` shows broken off, about to call? */
bool machine_stands_restarted(const struct machine_regs *now, const struct machine_regs *broken);
/*
 * Has the kernel seen already that nobody wanted it broken off, and is it back before its
 * instruction, about to call restart_syscall(2)? Then *regs becomes what it was before that.
 */
bool machine_takes_back_restart(struct machine_regs *regs);

/*
 * In a signal handler, with its third argument: was it this call, with this first argument, that
 * the thread is about to make, or to take up again? Then it fails with EINTR instead.
 */
void machine_step_over_call(void *ucontext, long nr, unsigned long first_argument);

#endif
