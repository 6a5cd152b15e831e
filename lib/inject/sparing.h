/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_SPARING_H
#define PROFC_INJECT_SPARING_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_syscall;

/*
 * Which threads of a process are not to be stopped now, as that would cut a transfer of theirs
 * short. One that sleeps amid a transfer is known by that; one that is off its CPU by its kernel
 * stack, to those who may see it. One that runs is driven off its CPU for that look, by our being
 * there at real-time priority until sparing_leave(), so that what is seen holds until it is
 * interrupted. Where kernel stacks are hidden, a thread that runs counts as amid a transfer if it
 * was amid one before, until it has run code of its own.
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
	pid_t spared; /* the last that was, 0: none */
	/* How this thread of ours ran, and where, before it went to another's CPU. */
	bool is_hurried, has_moved;
	int policy, priority;
	cpu_set_t cpus;
};

/* Nothing to release but by sparing_leave(). May take some milliseconds; nothing is stopped. */
void sparing_init(struct sparing *sparing, pid_t pid);

enum sparing_look {
	SPARING_NOT,	 /* it may be stopped */
	SPARING_ASLEEP,	 /* not now: it sleeps amid a transfer */
	SPARING_RUNNING, /* not now: it runs amid one */
};

/*
 * *syscall: the one that it sleeps in, if that is known. A thread that runs on a CPU, and was not
 * seen amid a transfer before, is taken not to be in one.
 */
enum sparing_look sparing_look(struct sparing *sparing, pid_t tid, struct proc_syscall *syscall);
/* The same just before it is interrupted: as root it is also seen in its first transfer. */
enum sparing_look sparing_look_last(struct sparing *sparing, pid_t tid,
				    struct proc_syscall *syscall);
/* After each look, once it was interrupted if it may be. */
void sparing_leave(struct sparing *sparing);

/*
 * May a thread in this call begin to wait again with all of its time-out when it is stopped and
 * resumed? True also where that cannot be known: for sockets, which may have a time-out of their
 * own (SO_RCVTIMEO), a time-out in memory that may be read-only, and calls that are not listed.
 */
bool sparing_may_begin_again(const struct proc_syscall *syscall);

#endif
