/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the file of a mapping. */
#ifndef PROFC_MAPPING_TARGET_FILE_H
#define PROFC_MAPPING_TARGET_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/owner.h"

struct backings;
struct stat;

/* One mapped file as /proc/PID/maps names it. */
struct target_file {
	pid_t pid;	     /* any live thread of the process */
	uint64_t start, end; /* of the mapping */
	uint64_t dev, inode;
	const char *path;	   /* in the target's mount namespace */
	struct backings *backings; /* borrowed: file systems that have not answered; or NULL */
};

/*
 * Open the very file that is mapped, whatever its path means by now: by /proc/PID/map_files (which
 * needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE), /proc/PID/exe, the path under /proc/PID/root or
 * the path as it is here; the latter three only if device and inode are the mapping's. Returns a
 * descriptor that the caller closes, with the result of fstat(2) in *found, or -1 with errno.
 */
int target_file_open(const struct target_file *file, struct stat *found);

/*
 * The owner of the mapped file, which has the fstat(2) `found`. A file of root's counts as root's
 * only in our mount namespace: the root of a container is another one.
 */
struct owner target_file_owner(const struct target_file *file, const struct stat *found);

/* Is the process in our mount namespace? False if that cannot be read. */
bool target_shares_mounts(pid_t pid);

/* Is the mapped file at this path of the target, which need not be its own? Opens nothing. */
bool target_file_is_at(const struct target_file *file, const char *path);

#endif
