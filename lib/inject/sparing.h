/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_SPARING_H
#define PROFC_INJECT_SPARING_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_syscall;
struct rescue;

/*
 * Which threads of a process must not be stopped now, as that would cut a transfer short? The
 * system call of a sleeping thread shows that it is amid a transfer. So does the kernel stack of a
 * thread that is off its CPU, if we may see it. A running thread is driven off its CPU for that
 * look: we run there at real-time priority until sparing_leave(), so that the result holds until
 * the thread is interrupted. Where kernel stacks are hidden, a running thread counts as amid a
 * transfer if it was amid one before, until it has run code of its own.
 */
struct spared_thread {
	pid_t tid;
	uint64_t user_ticks; /* when it was last seen amid a transfer */
};

#define SPARED_MAX 64

struct sparing {
	pid_t pid;
	bool sees_kernel_stacks;
	struct spared_thread seen[SPARED_MAX];
	size_t nr_seen, next_seen;
	pid_t spared; /* the last thread that was spared; 0: none */
	/* How our thread ran, and where, before it went to another thread's CPU. */
	bool is_hurried, has_moved;
	int policy, priority;
	cpu_set_t cpus;
	struct rescue *rescue; /* owned; or NULL */
	bool is_kept_out;      /* from such a CPU, by threads of real-time priority */
};

/* May take some milliseconds; nothing is stopped. is_alone: the process has one thread. */
void sparing_init(struct sparing *sparing, pid_t pid, bool is_alone);
void sparing_end(struct sparing *sparing); /* by the same thread, after sparing_leave() */

enum sparing_look {
	SPARING_NOT,	 /* it may be stopped */
	SPARING_ASLEEP,	 /* not now: it sleeps amid a transfer */
	SPARING_RUNNING, /* not now: it runs amid one */
};

/*
 * *syscall: the call in which the thread sleeps, if known. A thread that runs on a CPU, and was not
 * seen amid a transfer before, counts as outside.
 */
enum sparing_look sparing_look(struct sparing *sparing, pid_t tid, struct proc_syscall *syscall);
/* The same, just before an interrupt: root also sees a thread's first transfer. */
enum sparing_look sparing_look_last(struct sparing *sparing, pid_t tid,
				    struct proc_syscall *syscall);
/* Call this after each look, and after the interrupt that it allows. */
void sparing_leave(struct sparing *sparing);

/*
 * May a thread in this call restart its wait with all of its time-out if it is stopped and resumed?
 * True also if unknown: for sockets, which may have a time-out of their own (SO_RCVTIMEO), a
 * time-out in memory that may be read-only, and calls that are not listed.
 */
bool sparing_may_begin_again(const struct proc_syscall *syscall);

#endif
