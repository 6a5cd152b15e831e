/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_HEAP_CHILDREN_PRIV_H
#define PROFC_SAMPLER_HEAP_CHILDREN_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sampled_process;
struct sampler;

/* Facts about processes while rings are read. Zero-initialised: nothing is known. */
struct heap_family {
	pid_t owner, owner_ns_pid; /* owner of the memory; its id in its PID namespace */
	bool is_last;		   /* the next poll of the roster comes too late */
	bool waits;		   /* for the roster's news of the process that was asked about */
};

/*
 * Finds the writer of a record in the memory of `owner` that is not in the roster: a forked child
 * that has ended since the roster was last polled. It becomes a process of the recording. NULL: it
 * is no such child, but the owner itself in another PID namespace; or, if `waits` is set then, a
 * process that was born since.
 */
const struct sampled_process *heap_child_of(struct sampler *sampler, struct heap_family *family,
					    const struct sampled_process *owner, pid_t pid,
					    uint64_t time_ns);
/* Does a process with another id write there, though children are not to be followed? */
bool heap_is_stranger(const struct sampler *sampler, struct heap_family *family, pid_t owner,
		      pid_t pid);
/* End the children without a record since the last call; or all of them. */
void heap_end_children(struct sampler *sampler, bool all);

#endif
