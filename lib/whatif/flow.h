/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_WHATIF_FLOW_H
#define PROFC_WHATIF_FLOW_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How many requests are inside, between the calls of two functions, over a time: those that have
 * begun less those that have ended. By Little's law the mean time of a request inside is the mean
 * number divided by the rate of the ends. All times are of the clock without holds, so that a
 * request that was held is not inside for longer.
 *
 * Where counting began while requests were inside, the numbers have an unknown offset: the least
 * one that is seen is taken for none, if the program is there often enough.
 */
struct whatif_flow {
	double area_ns;		 /* the numbers, each for its time */
	int64_t all_ns;		 /* the time; a look may turn the clock back a bit */
	int64_t least, least_ns; /* the least number, and the time at it */
	int64_t first, last;	 /* numbers */
	int64_t clock_ns;	 /* of the last one */
};

void whatif_flow_begin(struct whatif_flow *flow, int64_t inside, int64_t clock_ns);
/* It was seen at a random moment: it stands for the time since the one before. */
void whatif_flow_add(struct whatif_flow *flow, int64_t inside, int64_t clock_ns);
/* Two parts of a time. */
struct whatif_flow whatif_flow_join(const struct whatif_flow *first,
				    const struct whatif_flow *second);

/* For all requests together; `none` is the number that stands for none. */
double whatif_flow_stay_ns(const struct whatif_flow *flow, int64_t none);
/* Do more and more stay inside, or fewer? Then there is no mean time. `nr_ended`: requests. */
bool whatif_flow_drifts(const struct whatif_flow *first, const struct whatif_flow *second,
			int64_t none, uint64_t nr_ended);
/* Can the least number be taken for none? */
bool whatif_flow_is_empty_at_least(const struct whatif_flow *flow);

#endif
