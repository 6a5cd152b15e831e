/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_MACHINE_H
#define PROFC_TRACEE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct proc_syscall;
struct snapshot;

/*
 * What differs between machines: tracee_x86_64.c and tracee_aarch64.c implement it,
 * nothing else in this room names a register.
 */

/* Bytes below the stack pointer that a leaf function may use. */
#if defined(__x86_64__)
#define MACHINE_RED_ZONE_BYTES 128 /* psABI 3.2.2 */
#elif defined(__aarch64__)
#define MACHINE_RED_ZONE_BYTES 0 /* AAPCS64 has none */
#else
#error "profc has no ptrace support for this machine"
#endif

/* How the kernel breaks calls off (include/linux/errno.h); a tracer sees it where the result is. */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

/*
 * Put all registers, as PTRACE_GETREGSET hands them over, into the snapshot, with the system call
 * that a stopped thread is in and where it keeps its own data (its TCB), if that is among them.
 * *syscall, with its arguments, stays as it is where they cannot be known.
 */
void machine_fill_snapshot(const struct user_regs_struct *regs, struct snapshot *snapshot,
			   struct proc_syscall *syscall);

/* How the system call that a stopped thread is in will look to the program. */
enum machine_call {
	MACHINE_CALL_NONE,	    /* not in a system call, as far as can be known */
	MACHINE_CALL_COMPLETE,	    /* it returns a result of its own */
	MACHINE_CALL_RESTARTS,	    /* interrupted: the kernel restarts it by itself, unseen */
	MACHINE_CALL_RESTART_BLOCK, /* interrupted: it goes on through restart_syscall(2) */
	MACHINE_CALL_EINTR,	    /* interrupted: the program would see EINTR */
};

enum machine_call machine_call(const struct user_regs_struct *regs);
/*
 * Make an interrupted call restart. One that would give EINTR does, unless a handler runs first,
 * which then sees it: the kernel decides between the two on the thread's way out. One that would go
 * on through restart_syscall(2) begins anew, as if it had not been made yet. False where the
 * machine cannot.
 */
bool machine_restart_call(struct user_regs_struct *regs, enum machine_call call);

#endif
