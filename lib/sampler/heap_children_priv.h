/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_HEAP_CHILDREN_PRIV_H
#define PROFC_SAMPLER_HEAP_CHILDREN_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sampled_process;
struct sampler;

/* What is known of processes while rings are read. Zero-initialised: nothing. */
struct heap_family {
	pid_t owner, owner_ns_pid; /* whose memory it is, and what it says of itself */
	bool is_last;		   /* the next poll of the roster comes too late */
	bool waits;		   /* for what it will say of the process that was asked about */
};

/*
 * A process that is not in the roster, but writes into the memory of `owner`: a child that was
 * forked from it, and has ended since the roster was last polled. It becomes a process of the
 * recording. NULL: it is none such, as the owner itself in another PID namespace; or, if `waits` is
 * set then, one that was born since.
 */
const struct sampled_process *heap_child_of(struct sampler *sampler, struct heap_family *family,
					    const struct sampled_process *owner, pid_t pid,
					    uint64_t time_ns);
/* Does a process of another id write there, though children are not to be followed? */
bool heap_is_stranger(const struct sampler *sampler, struct heap_family *family, pid_t owner,
		      pid_t pid);
/* Those end that were not met since the last time; or all of them. */
void heap_end_children(struct sampler *sampler, bool all);

#endif
