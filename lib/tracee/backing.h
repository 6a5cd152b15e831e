/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_BACKING_H
#define PROFC_TRACEE_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/range.h"

/*
 * Memory that shows a file may have pages that are not there until somebody brings them. Where
 * that is a process, FUSE, it may be one that waits for us in a stop: who touched such a page then
 * could not even be killed. No read of another's memory passes over what is missing, and what is
 * there may be gone before it is read. So whose file it is has to be known.
 */

#define BACKINGS_KNOWN 16

/* What was asked before. Begins as all 0, and owns nothing. */
struct backings {
	struct {
		uint32_t dev_major, dev_minor; /* of the file system */
		bool is_used;
		bool is_served;
	} known[BACKINGS_KNOWN];
	size_t next;
};

/*
 * May a read of this mapping, which shows a file, wait for anybody but the kernel and its disks?
 * Asks the table of mounts, once for each file system of the last few; what is not found there may,
 * and what cannot be looked up, as the thread has just died, is asked for again.
 */
bool backing_is_served(struct backings *backings, pid_t tid, const struct proc_range *range);

#endif
