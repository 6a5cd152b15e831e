/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_MACHINE_H
#define PROFC_TRACEE_MACHINE_H

#include <linux/audit.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct proc_syscall;
struct snapshot;
struct tracee;

/*
 * Differences between processors: tracee_x86_64.c and tracee_aarch64.c implement this, and nothing
 * else in this room names a register.
 */

/* Bytes below the stack pointer that a leaf function may use; the processor, for filters of calls.
 */
#if defined(__x86_64__)
#define MACHINE_RED_ZONE_BYTES 128 /* psABI 3.2.2 */
#define MACHINE_AUDIT_ARCH     AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE_RED_ZONE_BYTES 0 /* AAPCS64 has none */
#define MACHINE_AUDIT_ARCH     AUDIT_ARCH_AARCH64
#else
#error "profc has no ptrace support for this machine"
#endif

/*
 * Results of calls that the kernel has interrupted (include/linux/errno.h), as a tracer sees them.
 */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

/*
 * Put all registers of a stopped thread, in the form of PTRACE_GETREGSET, into the snapshot, with
 * the system call that it is in, and the address of its own data (its TCB) if they have it. It
 * sleeps (.state, which stays unchanged else) if the stop has interrupted that call. *syscall,
 * with its arguments, stays unchanged if they are not known.
 */
void machine_fill_snapshot(struct tracee *tracee, const struct user_regs_struct *regs,
			   struct snapshot *snapshot, struct proc_syscall *syscall);

/*
 * Was a stopped thread, which is in no system call, in the kernel because its own instruction
 * faulted, mostly at a page that it touched first? False: an interrupt reached it in its program,
 * or the machine does not tell, or its instruction is not in memory any more.
 */
bool machine_is_in_fault(struct tracee *tracee, const struct user_regs_struct *regs);

/* How the system call of a stopped thread will look to the program. */
enum machine_call {
	MACHINE_CALL_NONE,	    /* not in a system call, as far as can be known */
	MACHINE_CALL_REFUSED,	    /* an exec, perhaps because we trace: see visit_fix_up() */
	MACHINE_CALL_COMPLETE,	    /* it returns a result of its own */
	MACHINE_CALL_RESTARTS,	    /* interrupted: the kernel restarts it by itself, unseen */
	MACHINE_CALL_RESTART_BLOCK, /* interrupted: restart_syscall(2) continues it */
	MACHINE_CALL_EINTR,	    /* interrupted: the program would see EINTR */
};

/* Always MACHINE_CALL_NONE where the kernel has decided that before it shows the thread. */
enum machine_call machine_call(const struct user_regs_struct *regs);

/*
 * Make an interrupted call restart. A call that would give EINTR restarts unless a handler runs
 * first, which then sees EINTR: the kernel decides when the thread leaves it. A call that
 * restart_syscall(2) would continue begins again from its start, as does an exec that was refused.
 * False: the machine cannot do it.
 */
bool machine_restart_call(struct user_regs_struct *regs, enum machine_call call);

/*
 * Where the machine cannot do that: has the stop ended a call that is to begin again, as the
 * program would see EINTR, or its filter may not allow restart_syscall(2), or has an exec been
 * refused? Then set the registers to those of a thread that has not begun the call yet. The kernel
 * knows its first argument only until the thread makes another call. *signal is that of the stop,
 * 0: none; one that is ignored, and would have ended no call of an untraced thread, is set to 0.
 * False: nothing has changed.
 */
bool machine_rewind_call(pid_t tid, struct user_regs_struct *regs, int *signal);

/* Waits for the next stop of the thread. Returns what waitpid(2) returns, and its status. */
typedef pid_t (*machine_await)(void *context, int *status);

/*
 * Let the stopped thread go on through that call, `begun`, or to whatever stops it before, so that
 * the kernel begins the call again when it is let go. Where a signal stops it before the call it
 * has `ended`, its registers before that. A refused exec is begun by the thread itself once it is
 * let go: the result is that of a stop at its call. Returns what `await` has returned, and its
 * status; 0: it was not let go on. The thread runs for some microseconds, and has the option
 * PTRACE_O_TRACESYSGOOD afterwards.
 */
pid_t machine_begin_again(pid_t tid, const struct user_regs_struct *begun,
			  const struct user_regs_struct *ended, machine_await await, void *context,
			  int *status);

#endif
