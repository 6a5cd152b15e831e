/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_WEIGHTS_H
#define PROFC_CALLTREE_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/tally.h"
#include "stack/stack.h"
#include "stack/stack_end.h"

struct count_moment;
struct counts;
struct selection;

/* The weight of one stack's samples, of all walks that ended in the same way. */
struct stack_weight {
	struct stack_id stack;
	uint32_t end;  /* enum stack_end */
	bool is_fault; /* samples in page faults; the same stack may have a row of others, too */
	struct tally tally;
};

/*
 * The selected samples of a profile, or its blocks of memory, summed by stack in one metric: one
 * pass over them, after which trees and tables work on distinct stacks only.
 */
struct weights {
	const struct selection *selection; /* borrowed */
	enum metric metric;
	uint64_t at_ns;	       /* for METRIC_LIVE and METRIC_PEAK: the moment; else HEAP_AT_END */
	struct counts *counts; /* owned, never NULL */
	struct tally total;    /* of all selected samples */
	struct tally unattributed; /* without a stack of its time */
	struct tally no_stack;	   /* sampled, but no stack could be taken */
	struct tally truncated;	   /* has a stack that does not reach the root */
	struct tally elided;	   /* has a stack with an elided middle */
	struct tally
		unknown; /* not in the total: may be of the metric, see struct observation_walk */
	struct tally ended[STACK_END_COUNT]; /* those with a stack, by the end of its walk */
	/*
	 * Stacks with some weight, by id, so that callers come first, then by end, those in a page
	 * fault last. Owned.
	 */
	struct stack_weight *stacks;
	size_t nr_stacks;
};

struct weights *weights_new(const struct selection *selection, enum metric metric);
/* As weights_new(), with counts since a moment, for a recording in progress. NULL: all counts. */
struct weights *weights_new_since(const struct selection *selection, enum metric metric,
				  const struct count_moment *since);
void weights_free(struct weights *weights);

/*
 * The next stack, in order, with the sum of its weights over all ends of walks; false at the end.
 * *next is 0 before the first one, and then the number of finished rows.
 */
bool weights_next_stack(const struct weights *weights, size_t *next, struct stack_weight *sum);

#endif
