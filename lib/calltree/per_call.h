/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_PER_CALL_H
#define PROFC_CALLTREE_PER_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "calltree/tally.h"

struct weights;

/*
 * The time that a call of a function takes in the mean, with all that it calls: what the samples
 * say of its time, divided by its exact count. Recursive calls count one by one.
 */
struct per_call {
	double ns, ci_ns; /* ci_ns: half the width of its 95% confidence interval */
};

/* False where there is none: no call was counted, nothing sampled, or the metric is not a time. */
bool per_call_of(const struct weights *weights, const struct tally *called, uint64_t calls,
		 struct per_call *per_call);
/* The same of another total, as that of several runs. */
bool per_call_of_total(enum metric metric, const struct tally *total, const struct tally *called,
		       uint64_t calls, struct per_call *per_call);

/*
 * By key of struct counts, a label or that of a line: of the time in which the function is in the
 * stack other than inlined, or the line in any way, what counts do not cover: before its calls
 * began to be counted, or in processes where they were not. The caller frees it. NULL if nothing
 * was counted.
 */
struct tally *per_call_uncovered(const struct weights *weights);

#endif
