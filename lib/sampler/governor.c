// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/governor.h"

/* Below one tick a second a recording tells nothing. */
#define LONGEST_PERIOD_NS UINT64_C(1000000000)

void governor_init(struct governor *governor, uint64_t period_ns, uint32_t max_ppm)
{
	*governor = (struct governor){
		.max_ppm = max_ppm,
		.base_period_ns = period_ns,
		.period_ns = period_ns,
		.max_period_ns = period_ns > LONGEST_PERIOD_NS ? period_ns : LONGEST_PERIOD_NS,
	};
}

uint64_t governor_shortest_period(const struct governor *governor, uint64_t tick_ns,
				  unsigned int nr_cpus)
{
	double period_ns;

	if (!governor->max_ppm)
		return 0;
	period_ns = 1e6 * (double)tick_ns / nr_cpus / governor->max_ppm;
	if (period_ns > (double)governor->max_period_ns)
		return governor->max_period_ns;
	return (uint64_t)period_ns;
}

/* A step up is as long as the windows are while the period is shorter than they. */
#define STEP_NS	   UINT64_C(250000000)
#define STEP_SHARE 0.8

static double lowest(const struct governor *governor, uint64_t window_ns)
{
	double period_ns = (double)governor->period_ns;

	do {
		period_ns *= STEP_SHARE;
		window_ns -= window_ns < STEP_NS ? window_ns : STEP_NS;
	} while (window_ns >= STEP_NS && period_ns > (double)governor->base_period_ns);
	return period_ns;
}

/* Of so many stops one tells how long they take, whatever happened during it. */
#define TELLING_STOPS 4

static double highest(const struct governor *governor, uint64_t nr_stops)
{
	return (double)governor->period_ns * (1 + (double)nr_stops / TELLING_STOPS);
}

uint64_t governor_update(struct governor *governor, const struct governor_cost *cost,
			 uint64_t window_ns)
{
	double share_ppm;
	double wanted;

	if (!governor->max_ppm || !window_ns)
		return governor->period_ns;
	share_ppm = 1e6 * (double)cost->cost_ns / (double)window_ns;
	/* The share is inverse to the period. */
	wanted = (double)governor->period_ns * share_ppm / governor->max_ppm;
	if (wanted > highest(governor, cost->nr_stops))
		wanted = highest(governor, cost->nr_stops);
	if (wanted < lowest(governor, window_ns))
		wanted = lowest(governor, window_ns);
	if (wanted < (double)governor->base_period_ns)
		wanted = (double)governor->base_period_ns;
	if (wanted > (double)governor->max_period_ns)
		wanted = (double)governor->max_period_ns;
	governor->period_ns = (uint64_t)wanted;
	return governor->period_ns;
}
