/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_REMOVAL_H
#define PROFC_INJECT_REMOVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct patch_table;
struct probe_access;
struct probe_cost;
struct region_header;

/*
 * Removes probes. All that is needed for it is in the process itself, so probes of a profc that was
 * killed, and probes that a forked child has inherited, are removed like our own.
 */

/* The owner of a process' probes. */
enum probes_found {
	PROBES_NONE,
	PROBES_OURS,
	PROBES_LEFT_BEHIND, /* by a profc that has ended */
	PROBES_OF_OTHERS,   /* of another profc that runs: *owner is its id */
};

/* Nothing is stopped. */
enum probes_found probes_find(pid_t pid, pid_t *owner);

/* The patches in a memory file, as the first look at the stopped process showed them. */
struct removal_look {
	uint64_t inode;
	size_t nr;
	const uint8_t *states; /* nr of them, of enum patched_state; borrowed */
	bool is_writable;      /* the process may write to such a place */
};

/* Facts that the caller has of a process' patches, and that it wants. */
struct removal_patches {
	/* The patches in the memory file with this inode, which are as many; NULL: not known.
	 * Borrowed.
	 */
	const struct patch_table *(*find)(void *context, uint64_t inode, size_t nr);
	/* Once for each file, before the code is restored. True: their memory has to stay. */
	bool (*looked)(void *context, const struct removal_look *look);
	void *context;
};

/*
 * Restore the code of a process, and its address space: all threads are stopped for a moment, then
 * one makes the system calls. Only our probes and those left behind are removed. 0 also if there
 * are none. ERR_GONE, ERR_PERMISSION, ERR_UNSUPPORTED: it could not be stopped; ERR_LIMIT: a thread
 * cannot be moved from its place, and the memory stays (the code is restored); ERR_CORRUPT: the
 * process has written to the header or the patches, and nothing was done. *is_kept, on success: the
 * memory stays for good, as the process changes its own code, and may restore a jump to it.
 * `known` may be NULL.
 */
int probes_remove(const struct probe_access *access, const struct removal_patches *known,
		  struct probe_cost *cost, bool *is_kept, struct err *err);

/*
 * Unmap an installation's memory once nothing leads to it: the file with this inode, as far as it
 * is mapped, and the data and private memory that its header names. `cost` may be NULL.
 */
int removal_unmap(const struct probe_access *access, uint64_t inode,
		  const struct region_header *header, struct probe_cost *cost, struct err *err);

/* Call `each` for every process with probes of ours, among those that we may read. */
void probes_for_each_process(void (*each)(void *context, pid_t pid), void *context);

#endif
