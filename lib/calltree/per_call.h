/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_PER_CALL_H
#define PROFC_CALLTREE_PER_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "calltree/tally.h"

struct weights;

/*
 * The mean time of a call of a function, with all its callees: its time according to samples,
 * divided by its exact count. Recursive calls count one by one.
 */
struct per_call {
	double ns, ci_ns; /* ci_ns: half the width of its 95% confidence interval */
};

/* False without a result: no call was counted, nothing sampled, or the metric is not a time. */
bool per_call_of(const struct weights *weights, const struct tally *called, uint64_t calls,
		 struct per_call *per_call);
/* As above for another total, such as that of several runs. */
bool per_call_of_total(enum metric metric, const struct tally *total, const struct tally *called,
		       uint64_t calls, struct per_call *per_call);

/*
 * By key of struct counts (a label or the key of a line): the time that the counts do not cover,
 * before calls began to be counted or in processes where they were not. It is part of the time in
 * which the function is in the stack other than inlined, or the line in any way. The caller frees
 * the array. NULL if nothing was counted.
 */
struct tally *per_call_uncovered(const struct weights *weights);

#endif
