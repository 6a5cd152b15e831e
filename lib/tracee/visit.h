/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_VISIT_H
#define PROFC_TRACEE_VISIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "proc/task.h"

struct snapshot;
struct tracee;

/* What the filters of system calls (seccomp) of a thread say to restart_syscall(2). */
enum visit_filters {
	VISIT_FILTERS_UNREAD, /* or it has none */
	VISIT_FILTERS_HIDDEN, /* the kernel does not show them to us (call_filters.h) */
	VISIT_FILTERS_ALLOW,
	VISIT_FILTERS_FORBID,
};

/*
 * A thread is traced for the microseconds of a visit only: seize, interrupt, wait, capture, fix up,
 * detach. A visitor is the thread of ours that does it, as a tracer is a thread (ptrace(2)).
 * PTRACE_SEIZE waits for a process that executes a program, and that process waits until its other
 * threads are dead and reaped by their tracers. Three rules keep that harmless: a visitor has at
 * most one thread seized, and waits for any stop or death, under any id; if PTRACE_DETACH fails,
 * the thread was killed in its stop, and is reaped at once; if a stop does not come, the visitor
 * interrupts again, as an interrupt may be lost.
 */
struct visit {
	pid_t tid, tgid;
	pid_t stopped_tid;	     /* the id under which it stopped: its leader's after an exec */
	int signal;		     /* to be delivered when it continues; or 0 */
	uint64_t interrupted_ns;     /* CLOCK_MONOTONIC when the interrupt was sent */
	uint64_t stopped_ns;	     /* and when its stop was seen */
	struct proc_syscall syscall; /* in which it stopped; OUTSIDE: in none, as far as is known */
	bool is_group_stop;	     /* job control had stopped it before */
	bool was_fixed_up;	     /* its system call was made to restart */
	/* Set by the caller: its stop was seen from another CPU, and it may still be on its own. */
	bool is_leaving;
	bool reads_filters; /* set by the caller: read these at its stop */
	enum visit_filters filters;
	uint32_t nr_filters; /* if it has any: so many */
	/*
	 * Borrowed; NULL: never. Once it is set and a signal handler of ours has run, a thread that
	 * was let go on to its call is not waited for: then it still runs (is_left), visit_end()
	 * must not follow, and the end of our thread detaches it.
	 */
	const _Atomic bool *is_over;
	bool is_left;
	/*
	 * GONE: it was reaped, with this status of waitpid(2). If it was a child of ours the status
	 * is lost for others: to the kernel tracer and parent are one process.
	 */
	bool is_reaped;
	int status;
};

enum visit_outcome {
	VISIT_PENDING, /* interrupted: its stop has not been seen yet */
	VISIT_STOPPED, /* in a ptrace-stop: visit_capture(), then visit_end() must follow */
	VISIT_GONE,    /* it is dead, and reaped if we traced it */
	VISIT_REFUSED, /* another process traces it, or the kernel does not allow it: see errno */
};

/* Seize and interrupt. May block while the process executes a program. PENDING, GONE or REFUSED. */
enum visit_outcome visit_begin(struct visit *visit, pid_t tgid, pid_t tid);
/*
 * Has it stopped? If it may block, PENDING means that a signal handler of ours has run: call
 * visit_ask_again().
 */
enum visit_outcome visit_wait(struct visit *visit, bool may_block);
void visit_ask_again(const struct visit *visit);

/*
 * STOPPED: copy registers, and the stack from its pointer upwards into `snapshot`: at most
 * max_stack_bytes, or some MiB if its end is known. The caller sets its clocks.
 */
void visit_capture(struct visit *visit, struct tracee *tracee, size_t max_stack_bytes,
		   struct snapshot *snapshot);
/* Without stacks, for a thread that is held and not sampled: registers alone. */
void visit_capture_registers(struct visit *visit, struct tracee *tracee, struct snapshot *snapshot);
/*
 * Change the registers of a stopped thread so that a call which our stop interrupted with EINTR
 * restarts. A genuine signal that comes with the stop still gives EINTR, as the kernel decides
 * after we have detached. An exec that was refused is made again without us, as a security module
 * may forbid it to a traced process alone. False: there is nothing to write back. Used wherever a
 * thread is released.
 */
bool visit_fix_up(pid_t tid, struct user_regs_struct *regs, bool is_group_stop);
/* STOPPED: undo the effect of the stop on its system call, and detach. */
void visit_end(struct visit *visit);

#endif
