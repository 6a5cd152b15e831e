/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_GOVERNOR_H
#define PROFC_OVERHEAD_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What sampling may cost. A thread loses the time that it is held in stops and what each costs
 * beside that (calibration.h): at most the allowed share of its own CPU time, by leaving out stops
 * of that thread alone. Which are left out is drawn by lot, so that what a thread does has no
 * influence on it; the time that they stand for goes to the next sample. Ticks go on all the same.
 * Only where no CPU is idle do they take time from the target themselves: they may use half of what
 * is allowed, and where they would need more they get rarer; stops then have the other half.
 */
struct governor {
	uint32_t max_ppm;	 /* 0: never interferes */
	uint64_t base_period_ns; /* what the user asked for */
	uint64_t period_ns;	 /* what is done */
	uint64_t max_period_ns;
	uint64_t mean_cost_ns; /* of a stop, of late; 0: there was none */
	double stop_share;     /* of what is allowed, that which is left for stops */
	uint64_t random;
};

/* What the stops of one thread have cost, and what they may. All 0 at first. */
struct stop_budget {
	uint64_t cpu_ns;       /* its clock, up to which it was credited */
	int64_t balance_ns;    /* credits less costs */
	uint64_t mean_cost_ns; /* of its stops, of late; 0: there was none */
};

/* `seed` for the lots. */
void governor_init(struct governor *governor, uint64_t period_ns, uint32_t max_ppm, uint64_t seed);

/* Its CPU clock shows cpu_ns, and a tick has found it running: shall it be stopped? */
bool governor_allows(struct governor *governor, struct stop_budget *budget, uint64_t cpu_ns);
/* It was, and lost so much. */
void governor_charge(struct governor *governor, struct stop_budget *budget, uint64_t cost_ns);

/* What ticks take, but for stops, where threads would have the CPU else. */
struct governor_load {
	uint64_t tick_ns;     /* CPU time of one, in the mean */
	unsigned int nr_cpus; /* that there are */
	unsigned int
		lost_percent; /* of it, that is taken from threads: no CPU was idle meanwhile */
};

/*
 * Adapts the period, and the share of stops. Returns the new period. It is doubled or halved at
 * most: a window in which many new threads were found tells little of those to come.
 */
uint64_t governor_update(struct governor *governor, const struct governor_load *load);

#endif
