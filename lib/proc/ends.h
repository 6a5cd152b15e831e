/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the processes that have the ends of pipes, and sockets. */
#ifndef PROFC_PROC_ENDS_H
#define PROFC_PROC_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/index_set.h"

enum proc_end_kind {
	PROC_END_READS, /* of a pipe */
	PROC_END_WRITES,
	PROC_END_SOCKET,
};

/* Few ends have more owners; further ones are not listed. */
#define PROC_END_OWNERS 8

struct proc_end {
	uint64_t inode;
	enum proc_end_kind kind;
	pid_t owners[PROC_END_OWNERS]; /* distinct; 0 after the last */
};

/* Begins as all 0. */
struct proc_ends {
	struct proc_end *rows; /* owned; distinct */
	size_t nr, cap;
	struct index_set set;
};

void proc_ends_release(struct proc_ends *ends);
/*
 * Forget all, and read those of all processes that we may inspect: a microsecond for each
 * descriptor, and at most some 100,000 descriptors.
 */
void proc_ends_read(struct proc_ends *ends);
/* The processes that have an end, or NULL: none is known. Borrowed until the next reading. */
const struct proc_end *proc_ends_find(const struct proc_ends *ends, uint64_t inode,
				      enum proc_end_kind kind);
/* Is a process among them? The end may be NULL. */
bool proc_end_is_of(const struct proc_end *end, pid_t pid);

/*
 * The number in what /proc/PID/fd/N links to: 77 of "pipe:[77]" with the prefix "pipe:["; false if
 * it is of another kind.
 */
bool proc_end_inode(const char *target, const char *prefix, uint64_t *inode);

/* Is a descriptor of a process open for writing? False with errno if it cannot be read. */
bool proc_descriptor_writes(pid_t pid, int fd, bool *writes);

#endif
