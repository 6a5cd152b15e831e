/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_MACHINE_H
#define PROFC_TRACEE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct proc_syscall;
struct snapshot;

/*
 * What differs between machines: tracee_x86_64.c and tracee_aarch64.c implement it,
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

/* How the system call that a stopped thread is in will look to the program. */
enum machine_call {
	MACHINE_CALL_NONE,	    /* not in a system call, as far as can be known */
	MACHINE_CALL_COMPLETE,	    /* it returns a result of its own */
	MACHINE_CALL_RESTARTS,	    /* interrupted: the kernel restarts it by itself, unseen */
	MACHINE_CALL_RESTART_BLOCK, /* interrupted: it goes on through restart_syscall(2) */
	MACHINE_CALL_EINTR,	    /* interrupted: the program would see EINTR */
};

enum machine_call machine_call(const struct machine_regs *regs);
/*
 * Make an interrupted call restart, unless a handler runs first, which then sees EINTR. The
 * kernel decides between the two on the thread's way out. False where the machine cannot.
 */
bool machine_restart_call(struct machine_regs *regs);
/* Make the thread begin its interrupted call anew, as if it had not been made yet. */
bool machine_rewind_call(struct machine_regs *regs);

#endif
