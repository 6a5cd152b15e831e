/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_GOVERNOR_H
#define PROFC_OVERHEAD_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What sampling may cost. A thread loses the time that it is held in stops and what each costs
 * beside that (calibration.h): at most the allowed share of its own CPU time, by leaving out stops
 * of that thread alone. Which are left out is drawn by lot, so that what a thread does has no
 * influence on it; the time that they stand for goes to the next sample. Threads that live for a
 * few stops, or wait for a CPU, are found more often than their CPU time says: where all threads
 * together would lose more than the share, all lots get rarer. Ticks go on all the same.
 * Only where no CPU is idle do they take time from the target themselves. Looks at sleeping threads
 * then have half of what is allowed, as credit that grows with time: where it is used up, looks
 * that are due wait. At most half of it is for copies of their stacks, which cost most: the less
 * there is left, the fewer are made. Of what looks leave ticks may use half. They get rarer where
 * they would need more, or where they leave stops so little that most ticks would be without; but
 * only what fewer of them would save counts as theirs. Stops have the rest. Where all of it has
 * taken more than the share, less is allowed until that is made up for.
 */
struct governor {
	uint32_t max_ppm;	 /* 0: never interferes */
	uint64_t base_period_ns; /* what the user asked for */
	uint64_t period_ns;	 /* what is done */
	uint64_t max_period_ns;
	uint64_t mean_cost_ns; /* of a stop, of late; 0: there was none */
	/* The CPU time that threads used in this window and of late, and the cost of their stops.
	 */
	double window_credited_ns, window_charged_ns;
	double credited_ns, charged_ns;
	double debt_ns;	   /* that threads have lost beyond the bound; below 0: less than that */
	double allowance;  /* the part of the bound that may be used until it is paid */
	double lots;	   /* the chance of a stop is multiplied by this */
	double stop_share; /* of what is allowed, that which is left for stops */
	double look_rate;  /* of credit for looks, in ns of CPU time a ns */
	double look_credit_ns;
	double copy_credit_ns;	   /* for copies of stacks: half of that for looks */
	uint64_t look_credited_ns; /* up to this time */
	double lost_ns;		   /* CPU time that ticks and looks have taken from threads */
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

/* By lot: shall it be stopped in this tick, if that finds it running? */
bool governor_draws(struct governor *governor, const struct stop_budget *budget);
/* All threads together have used so much more CPU time, seen by us or not. */
void governor_credit(struct governor *governor, uint64_t cpu_ns);
/* Its CPU clock shows cpu_ns: can it afford a stop now? */
bool governor_affords(struct governor *governor, struct stop_budget *budget, uint64_t cpu_ns);
/* It was, and lost so much. */
void governor_charge(struct governor *governor, struct stop_budget *budget, uint64_t cost_ns);

/*
 * Sleeping threads may be looked at for so much CPU time now; 0: not in this tick. What is spent
 * is charged afterwards, and may be more: looks wait until that is paid.
 */
uint64_t governor_look_credit_ns(struct governor *governor, uint64_t now_ns);
/* By lot: shall the stack of a thread be copied, if it sleeps? The less credit, the more rarely. */
bool governor_draws_copy(struct governor *governor);
/* It has cost so much, which is charged with the looks, too. */
void governor_charge_copy(struct governor *governor, uint64_t cpu_ns);
void governor_charge_looks(struct governor *governor, uint64_t cpu_ns);

/* CPU time used without stops, while no CPU was idle: threads would have had it. */
struct governor_load {
	uint64_t window_ns;   /* in so long a time */
	uint64_t nr_ticks;    /* in it */
	uint64_t tick_ns;     /* CPU time of a tick, in the mean: what one fewer saves */
	uint64_t looks_ns;    /* at threads that sleep */
	unsigned int nr_cpus; /* that there are */
	unsigned int
		lost_percent; /* of it, that is taken from threads: no CPU was idle meanwhile */
};

/*
 * Adapts the period, the share of stops and the credit for looks. Returns the new period. It is
 * doubled or halved at most: a window in which many new threads were found tells little of those to
 * come.
 */
uint64_t governor_update(struct governor *governor, const struct governor_load *load);

#endif
