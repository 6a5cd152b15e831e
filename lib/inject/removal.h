/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_REMOVAL_H
#define PROFC_INJECT_REMOVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct probe_access;
struct probe_cost;
struct region_header;

/*
 * Takes probes away again: all that is needed for it is in the process itself, so that those
 * of a profc that was killed, and those that a forked child has inherited, go like our own.
 */

/* Whose probes a process has. */
enum probes_found {
	PROBES_NONE,
	PROBES_OURS,
	PROBES_LEFT_BEHIND, /* by a profc that is no more */
	PROBES_OF_OTHERS,   /* of a profc that runs: *owner is its id */
};

/* Nothing is stopped. */
enum probes_found probes_find(pid_t pid, pid_t *owner);

/*
 * Have the code of a process as it was, and its address space: all threads stand for a moment; then
 * one makes the system calls. Only ours and what was left behind goes. 0 also if there is nothing.
 * ERR_GONE, ERR_PERMISSION, ERR_UNSUPPORTED: it could not be stopped; ERR_LIMIT: a thread stands
 * where it cannot be moved from, and the memory stays (the code is as it was); ERR_CORRUPT: the
 * process has written to what tells how, and nothing was done. *is_kept, on success: the memory
 * stays for good, as the process changes its own code and may put back what leads there.
 */
int probes_remove(const struct probe_access *access, struct probe_cost *cost, bool *is_kept,
		  struct err *err);

/*
 * Unmap an installation's memory that nothing leads to, the file with this inode, as far as it is
 * mapped, and what its header says is private to the process. `cost` may be NULL.
 */
int removal_unmap(const struct probe_access *access, uint64_t inode,
		  const struct region_header *header, struct probe_cost *cost, struct err *err);

/* Call `each` for every process of ours, or that we may look into, that has probes of ours. */
void probes_for_each_process(void (*each)(void *context, pid_t pid), void *context);

#endif
