/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HOLDING_AWAITED_H
#define PROFC_HOLDING_AWAITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/ends.h"

struct proc_syscall;

/* By what is a thread woken that sleeps in a system call? */
enum awaited_from {
	AWAITED_INSIDE,	 /* by another thread of its process */
	AWAITED_OUTSIDE, /* by a timer, or by another process */
	AWAITED_UNKNOWN, /* it waits for a descriptor, and that cannot be told */
};

/* The answer for an end of a pipe, or a socket. */
struct awaited_end {
	uint64_t inode;
	enum proc_end_kind kind;
	enum awaited_from from;
};

#define AWAITED_ENDS 64

/* Begins as all 0, but for the process. Who has which end is looked up once a second at most. */
struct awaited {
	pid_t pid;
	struct proc_ends ends;
	struct awaited_end known[AWAITED_ENDS]; /* a ring */
	size_t nr_known;
	uint64_t read_ns;
};

void awaited_release(struct awaited *awaited);

/*
 * A thread of the process sleeps in this call. Futexes and the ends of children are INSIDE, and so
 * are eventfd(2), and a pipe or a socket of AF_UNIX whose other end this process alone has.
 */
enum awaited_from awaited_from(struct awaited *awaited, const struct proc_syscall *call);

#endif
