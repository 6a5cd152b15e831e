/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_GOVERNOR_H
#define PROFC_SAMPLER_GOVERNOR_H

#include <stdint.h>

/*
 * What the stops cost, and how often they may be made. The cost of a stop is the
 * time the thread was held and what it loses after it: being woken on a CPU whose
 * caches were used by others. The period is lengthened until the thread that
 * suffers most loses no more than the allowed share of its time.
 */
struct governor {
	uint32_t max_ppm;	 /* 0: never interferes */
	uint64_t base_period_ns; /* what the user asked for */
	uint64_t period_ns;	 /* what is done */
	uint64_t max_period_ns;
};

/*
 * Work lost beyond the hold, by wake-up and cold caches: measured, at 1000 stops a second, 6 % of
 * the work with 16 us of hold when a stop is spun for from an idle CPU.
 */
#define GOVERNOR_WAKE_UP_NS UINT64_C(35000)

void governor_init(struct governor *governor, uint64_t period_ns, uint32_t max_ppm);

/* What a thread lost, by so many stops. */
struct governor_cost {
	uint64_t cost_ns, nr_stops;
};

/*
 * The thread that was stopped most lost so much within the last window_ns: adapt the
 * period. Returns the new one. A rate that was too high is cut at once, but by a few
 * stops only so far: where thousands of threads begin, one may last a hundred times as
 * long as those to come. A lower one is raised by at most a quarter in 250 ms, so that
 * it does not swing.
 */
uint64_t governor_update(struct governor *governor, const struct governor_cost *cost,
			 uint64_t window_ns);

/*
 * With a thousand threads that run, reading takes longer than all stops: at most the allowed share
 * of nr_cpus if each tick takes tick_ns. Not smoothed: most ticks are alike, those that find
 * many new threads are not, and soon over.
 */
uint64_t governor_shortest_period(const struct governor *governor, uint64_t tick_ns,
				  unsigned int nr_cpus);

#endif
