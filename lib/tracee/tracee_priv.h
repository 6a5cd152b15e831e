/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_TRACEE_PRIV_H
#define PROFC_TRACEE_TRACEE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "tracee/tracee.h"

/*
 * Memory that shows a file may have pages that are not there until they are brought. Where
 * that is a process, FUSE, it may be one that waits for us in a stop: who touched such a page then
 * could not even be killed. No read of another's memory passes over what is missing, and what is
 * there may be gone before it is read. So whose file it is has to be known.
 */
struct backing {
	uint32_t dev_major, dev_minor; /* of the file system */
	bool is_served;
};

#define BACKINGS_KNOWN 16

/* What was asked before. Begins as all 0, and owns nothing. */
struct backings {
	struct backing known[BACKINGS_KNOWN];
	size_t nr_found; /* of which the last are known */
};

struct tracee_host {
	_Atomic size_t nr_kept; /* files kept open beyond schedstat */
	size_t max_kept;
	_Atomic bool shows_wchan; /* the kernel tells where threads sleep */
	pthread_mutex_t backings_lock;
	struct backings backings;
};

/* The descriptor on one of its files, kept open if there is room; else -1. */
int tracee_kept_file(struct tracee *tracee, enum tracee_file file);

/* Where in the kernel it sleeps, as text: "" or "0" if that is not told. */
void tracee_read_wchan(struct tracee *tracee, char *out, size_t cap);
/* tracee.c: all but registers and stacks, of a thread that was observed just now. */
void tracee_begin_snapshot(const struct tracee *tracee, struct snapshot *snapshot);
/* Where the program began, as its stat tells; of its main thread only. */
void tracee_learn_first_sp(struct tracee *tracee, uint64_t first_sp);

/*
 * backing.c: may a read of this mapping, which shows a file, wait for anybody but the kernel and
 * its disks? Asks the table of mounts, once for each file system of the last few; what is not found
 * there may, and is asked for again.
 */
bool tracee_is_served(struct backings *backings, pid_t tid, const struct proc_range *range);

/* stack_copy.c: copy the stacks that a walk may need, from the snapshot's stack pointer on. */
void tracee_copy_stacks(struct tracee *tracee, size_t max_bytes, struct snapshot *snapshot);
/* stack_copy.c: the mapping of the stack may change while nothing is observed. */
void tracee_forget_mapping(struct tracee *tracee);

#endif
