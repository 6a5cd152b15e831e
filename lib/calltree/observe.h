/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_OBSERVE_H
#define PROFC_CALLTREE_OBSERVE_H

#include "calltree/filter.h"
#include "calltree/tally.h"
#include "profile/heap_estimate.h"
#include "profile/heap_lives.h"

struct elapsed;

/*
 * Walks over the selected observations of a metric. Numbers of blocks and bytes are fractions: each
 * rounding error is carried to the next observation, so that sums are right.
 */
struct observation_walk {
	const struct selection *selection; /* borrowed */
	enum metric metric;
	bool all;	/* ignore the filters */
	uint64_t at_ns; /* for METRIC_LIVE and METRIC_PEAK: the moment; HEAP_AT_END */
	struct selection_walk samples;
	const struct elapsed *elapsed; /* for METRIC_ELAPSED; borrowed */
	bool *counted;		       /* likewise: by sample, a part of it was returned; owned */
	struct heap_estimate estimate; /* these members are for memory */
	struct heap_lives lives;       /* empty until they are needed */
	/*
	 * Weight that may belong: the lifetime is unknown (METRIC_TEMPORARY), or the freeing stack
	 * (METRIC_FREED).
	 */
	struct tally unknown;
	size_t next;
	uint64_t end_ns;
	double carry;
};

void observation_walk_init(struct observation_walk *walk, const struct selection *selection,
			   enum metric metric);
void observation_walk_release(struct observation_walk *walk);
/* The next observation, perhaps without weight; false at the end. */
bool observation_walk_next(struct observation_walk *walk, struct observation *observation);

/* For metrics of memory: struct tally's `fixed` and `lost` for the whole. */
double observation_walk_fixed(const struct observation_walk *walk);
double observation_walk_lost(const struct observation_walk *walk);

/* The lives of the blocks, for any metric of memory. Borrowed from the walk. */
const struct heap_lives *observation_walk_lives(struct observation_walk *walk);

/* The sum of all observations of a metric, as if there were no filters. */
uint64_t selection_total_of_all(const struct selection *selection, enum metric metric);

#endif
