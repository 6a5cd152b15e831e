/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How slow calls of a function differ from its other calls. */
#ifndef PROFC_CALLTREE_SLOW_DIFFERENCE_H
#define PROFC_CALLTREE_SLOW_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/waited.h"

struct selection;

/* Where the time of a call goes. */
enum slow_kind { SLOW_ON_CPU, SLOW_FOR_CPU, SLOW_BLOCKED, SLOW_KIND_COUNT };

enum slow_side { SLOW_CALLS, OTHER_CALLS, SLOW_SIDES };

/* A part of the time of the calls of one side. */
struct slow_share {
	double share;	/* of 1 */
	double half;	/* of its 95% confidence interval */
	double call_ns; /* in a mean call */
};

struct slow_row {
	enum slow_kind kind;
	bool is_total;	      /* of its kind: no label */
	uint32_t label;	      /* the function on the CPU, or that waits; or LABEL_OF_NONE */
	struct waited waited; /* WAITED_CALL: the object is not known, or it was not blocked */
	struct slow_share shares[SLOW_SIDES];
	bool is_sure; /* the shares differ */
};

struct slow_sums {
	uint64_t nr_samples;
	uint64_t nr_sampled; /* calls that had a sample */
	uint64_t nr_calls;
	double call_ns; /* the mean length, which is exact if no slow call is missing */
};

struct slow_difference {
	const struct selection *selection; /* borrowed */
	struct slow_sums sums[SLOW_SIDES];
	struct waited_objects objects; /* owned */
	/*
	 * Owned: a total of each kind before the rows of the kind; the kinds, and the rows of each,
	 * by how much more time a slow call spends there, the most first.
	 */
	struct slow_row *rows;
	size_t nr;
};

#define LABEL_OF_NONE UINT32_MAX

/*
 * The samples of a call are like each other, so calls are what the intervals count: a share is a
 * quotient of sums over calls that had a sample, and Student's distribution for as many of them
 * gives its interval. When other calls began is not recorded: samples of a thread that are less
 * than the limit apart count as one call. The selection has a filter of slow calls, with others.
 */
struct slow_difference *slow_difference_new(const struct selection *selection);
void slow_difference_free(struct slow_difference *difference);

#endif
