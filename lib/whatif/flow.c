// SPDX-License-Identifier: GPL-2.0-or-later
#include "whatif/flow.h"

#include <math.h>

/* The least number is none if it is the one for this part of the time, and others are, too. */
#define LEAST_PART 0.02
/* More of the requests came than went, or the other way round, ... */
#define DRIFT_PART 0.05
/* ... and so the means of the halves differ by this part of their own, and by requests. */
#define DRIFT_OF_MEAN	0.5
#define DRIFT_LEAST	1.0
#define LEAST_NR_MOVING 2

void whatif_flow_begin(struct whatif_flow *flow, int64_t inside, int64_t clock_ns)
{
	*flow = (struct whatif_flow){
		.least = inside, .first = inside, .last = inside, .clock_ns = clock_ns};
}

static void note_least(struct whatif_flow *flow, int64_t number, int64_t ns)
{
	if (number < flow->least) {
		flow->least = number;
		flow->least_ns = 0;
	}
	if (number == flow->least)
		flow->least_ns += ns;
}

void whatif_flow_add(struct whatif_flow *flow, int64_t inside, int64_t clock_ns)
{
	int64_t ns = clock_ns - flow->clock_ns;

	flow->area_ns += (double)inside * (double)ns;
	flow->all_ns += ns;
	note_least(flow, inside, ns);
	flow->last = inside;
	flow->clock_ns = clock_ns;
}

struct whatif_flow whatif_flow_join(const struct whatif_flow *first,
				    const struct whatif_flow *second)
{
	struct whatif_flow both = *first;

	both.area_ns += second->area_ns;
	both.all_ns += second->all_ns;
	note_least(&both, second->least, second->least_ns);
	both.last = second->last;
	both.clock_ns = second->clock_ns;
	return both;
}

double whatif_flow_stay_ns(const struct whatif_flow *flow, int64_t none)
{
	return flow->area_ns - (double)none * (double)flow->all_ns;
}

static double mean(const struct whatif_flow *flow, int64_t none)
{
	return flow->all_ns > 0 ? whatif_flow_stay_ns(flow, none) / (double)flow->all_ns : 0;
}

bool whatif_flow_drifts(const struct whatif_flow *first, const struct whatif_flow *second,
			int64_t none, uint64_t nr_ended)
{
	double moved = fabs((double)(second->last - first->first));
	double before = mean(first, none), after = mean(second, none);

	if (moved <= LEAST_NR_MOVING || moved <= DRIFT_PART * (double)nr_ended)
		return false;
	return fabs(after - before) > fmax(DRIFT_OF_MEAN * (before + after) / 2, DRIFT_LEAST);
}

bool whatif_flow_is_empty_at_least(const struct whatif_flow *flow)
{
	double part = flow->all_ns > 0 ? (double)flow->least_ns / (double)flow->all_ns : 0;

	return part >= LEAST_PART && part < 1;
}
