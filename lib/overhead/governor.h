/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_GOVERNOR_H
#define PROFC_OVERHEAD_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keeps the cost of sampling below the share that the user allows.
 *
 * Stops: a thread loses the time that it is held, and the overhead of each stop (calibration.h). If
 * that would exceed the share of its own CPU time, the governor leaves out stops of this thread
 * alone. It draws by lot, so that the thread's behaviour has no influence on the choice; the time
 * of a stop that was left out goes to the next sample. Threads that live for a few stops, or wait
 * for a CPU, are found more often than their CPU time suggests: if all threads together would lose
 * more than the share, all lots get rarer. Ticks continue all the same.
 *
 * Ticks and looks take time from the target only while no CPU is idle. Then looks at sleeping
 * threads get half of the share, as credit that grows with time; without credit, looks that are due
 * wait. Where a CPU is idle the credit grows by a part of that CPU, which is the smaller the more
 * threads sleep, so that a program of thousands does not keep it busy. At most half of the credit
 * pays for copies of stacks, which cost most: the less is left, the fewer copies are made. Ticks
 * may use half of the remainder. They get rarer if they would need more, or if they leave so little
 * for stops that most ticks would have none; but the governor charges ticks only with the time that
 * fewer of them would save. Stops have the rest. If all together have exceeded the share, the
 * governor allows less until the debt is paid.
 *
 * Apart from what threads lose, a recorder that is always on may have a budget: the part of one CPU
 * that it may use, whether a CPU is idle or not. The longer of the two periods is in use, looks
 * have a third of the budget at most, and clocks of processes a quarter,
 * from the moment on at which its CPU time is told.
 */

/*
 * The CPU time of profc's own threads, and the ticks, of the last half a minute or so: the longer
 * ago, the less they count. A tick costs what all of that time but for looks is for one of them, so
 * that the period which keeps the budget is known at once, without trials.
 */
struct cost_budget {
	uint32_t max_ppm; /* of one CPU; 0: no bound */
	double cpu_ns, time_ns, nr_ticks;
	double looks_ns;     /* of cpu_ns: at threads that sleep, which no lower rate would save */
	uint64_t period_ns;  /* keeps the budget, or is the longest; 0: not known yet */
	uint64_t too_low_ns; /* for so long the budget has not sufficed for the longest period */
};

struct governor {
	uint32_t max_ppm;	 /* 0: never interferes */
	uint64_t base_period_ns; /* as the user asked for */
	uint64_t period_ns;	 /* in use */
	uint64_t max_period_ns;
	uint64_t mean_cost_ns; /* of recent stops, or as expected; 0: unknown */
	/* CPU time of threads, and the cost of their stops: in this window, and recently. */
	double window_credited_ns, window_charged_ns;
	double credited_ns, charged_ns;
	double debt_ns;	   /* loss of threads beyond the bound; negative: below the bound */
	double allowance;  /* the part of the bound that may be used until the debt is paid */
	double lots;	   /* the chance of a stop is multiplied by this */
	double stop_share; /* the part of the bound that is left for stops */
	double look_rate;  /* the part of the time that looks may take from threads */
	double idle_rate;  /* the part of an idle CPU that they may take */
	double look_credit_ns;
	double copy_credit_ns;	   /* for copies of stacks: half of that for looks */
	uint64_t look_credited_ns; /* the time up to which credit was given */
	double lost_ns;		   /* CPU time that ticks and looks have taken from threads */
	struct cost_budget budget;
	uint64_t random;
};

/* Allowed and actual cost of the stops of one thread. All 0 at first. */
struct stop_budget {
	uint64_t cpu_ns;       /* reading of its CPU clock up to which it has credit */
	int64_t balance_ns;    /* credits less costs */
	uint64_t mean_cost_ns; /* of its recent stops; 0: there was none */
	bool was_long;	       /* the last one, against that mean */
};

/* `seed` for the lots. */
void governor_init(struct governor *governor, uint64_t period_ns, uint32_t max_ppm, uint64_t seed);
/* Keep the CPU time of profc's own threads below this part of one CPU; 0: no bound. */
void governor_set_budget(struct governor *governor, uint32_t max_ppm);
/* The part of one CPU that they use, of late. */
uint32_t governor_used_ppm(const struct governor *governor);
/* Has the budget not sufficed for the lowest rate, for a minute or longer? */
bool governor_lacks_budget(const struct governor *governor);
/* A stop will cost about so much; without this, the first one decides. 0: unknown. */
void governor_expect(struct governor *governor, uint64_t cost_ns);

/* Draw by lot whether to stop the thread in this tick, if the tick finds it running. */
bool governor_draws(struct governor *governor, const struct stop_budget *budget);
/* All threads together have used so much more CPU time, whether we saw it or not. */
void governor_credit(struct governor *governor, uint64_t cpu_ns);
/* Can the thread, whose CPU clock shows cpu_ns, afford a stop now? */
bool governor_affords(struct governor *governor, struct stop_budget *budget, uint64_t cpu_ns);
/* The thread was stopped, and lost so much time. */
void governor_charge(struct governor *governor, struct stop_budget *budget, uint64_t cost_ns);

/* How long one tick may read clocks of processes, to find which of them have begun to run. */
uint64_t governor_clocks_ns(const struct governor *governor);
/*
 * The CPU time that looks at sleeping threads may take now; 0: none in this tick. The caller
 * charges afterwards what they took. It may be more: looks then wait until the debt is paid.
 */
uint64_t governor_look_credit_ns(struct governor *governor, uint64_t now_ns);
/* Draw by lot whether to copy the stack of a sleeping thread: the less credit, the more rarely. */
bool governor_draws_copy(struct governor *governor);
/* A copy took so much; the caller charges it with the looks, too. */
void governor_charge_copy(struct governor *governor, uint64_t cpu_ns);
void governor_charge_looks(struct governor *governor, uint64_t cpu_ns);

/* CPU time of profc besides stops; while no CPU is idle, threads lose it. */
struct governor_load {
	uint64_t window_ns;	   /* length of the window */
	uint64_t nr_ticks;	   /* in the window */
	uint64_t tick_ns;	   /* mean CPU time that one tick fewer would save */
	uint64_t looks_ns;	   /* CPU time of looks at sleeping threads */
	uint64_t own_ns;	   /* all CPU time of profc's threads; 0: unknown */
	size_t nr_sleepers;	   /* these threads */
	unsigned int nr_cpus;	   /* of the machine, or those that we may use */
	unsigned int lost_percent; /* the part of this CPU time that threads lost: no idle CPU */
};

/*
 * Adapt the period, the share of stops and the credit for looks to the last window. Returns the new
 * period: at most twice, at least half of the former one, since a window with many new threads says
 * little about the next.
 */
uint64_t governor_update(struct governor *governor, const struct governor_load *load);

#endif
