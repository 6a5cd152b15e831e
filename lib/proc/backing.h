/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For which program, if any, a read of memory that shows a file may wait. */
#ifndef PROFC_PROC_BACKING_H
#define PROFC_PROC_BACKING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_range;

/*
 * Memory that shows a file may have pages that are not there until they are brought. Where that is
 * done by a process (FUSE), it may be one that waits for us in a stop: who touched such a page then
 * could not even be killed. No read of another's memory passes over what is missing, and what is
 * there may be gone before it is read. So whose file it is has to be known.
 */
struct backing {
	uint32_t dev_major, dev_minor; /* of the file system */
	bool is_served, is_silent;
};

#define BACKINGS_KNOWN 16

/* Earlier answers. Any thread. */
struct backings {
	pthread_mutex_t lock;
	struct backing known[BACKINGS_KNOWN];
	size_t nr_found; /* of which the last are known */
};

void backings_init(struct backings *backings);
void backings_release(struct backings *backings);

/*
 * May a read of this mapping, which shows a file, wait for anybody but the kernel and its disks?
 * Asks the table of mounts, once for each file system of the last few; what is not found there may,
 * and is asked for again. For root, an overlay (overlayfs) counts as served unless it is mounted in
 * our own mount namespace: in another one a user may have mounted it.
 */
bool backings_are_served(struct backings *backings, pid_t tid, const struct proc_range *range);
/* A file system has not answered: is it one of which that is known? */
void backings_note_silent(struct backings *backings, const struct proc_range *range);
bool backings_are_silent(struct backings *backings, const struct proc_range *range);

#endif
