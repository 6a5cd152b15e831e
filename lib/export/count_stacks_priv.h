/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_COUNT_STACKS_PRIV_H
#define PROFC_EXPORT_COUNT_STACKS_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "stack/stack.h"

struct extract;

#define COUNT_NO_CALLER ((struct frame_id){UINT32_MAX})

/*
 * Exact counts as stacks of two frames, each call once: a call counted at its call site is
 * subtracted from the entries of its callee. The remaining entries have no known caller.
 */
struct count_stack {
	uint32_t process;	/* row of profile.processes */
	struct frame_id callee; /* its first instruction, or COUNT_NO_CALLEE */
	struct frame_id caller; /* in the call, or COUNT_NO_CALLER; never both unknown */
	uint64_t calls;		/* > 0 */
};

struct count_stacks {
	struct count_stack *stacks; /* owned; in the order of the profile's counts */
	size_t nr, cap;
};

/* None if nothing was counted, or if the filters select a part for which counts are unknown. */
void count_stacks_init(struct count_stacks *stacks, const struct extract *extract);
void count_stacks_release(struct count_stacks *stacks);

#endif
