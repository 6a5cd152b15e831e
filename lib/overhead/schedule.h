/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_SCHEDULE_H
#define PROFC_OVERHEAD_SCHEDULE_H

#include <stdint.h>

/*
 * The moments of ticks. The gaps between them are random and independent: an eighth of a period,
 * and an exponential rest of up to six periods. A fixed rhythm would alias with the target's own.
 * So would one tick at a random moment of each period: a sample stands for the time since the
 * previous one, and that is longer the later in its period the tick falls. Each deadline follows
 * from the previous deadline, so that a late tick shifts no other.
 */
#define SCHEDULE_DRAWN 16
/* The longest gap, in periods, unless a tick is missed. */
#define SCHEDULE_MOST_PERIODS 6

struct schedule {
	uint64_t period_ns; /* the mean gap */
	uint64_t next_ns;
	uint64_t after_next_ns; /* if the next tick is in time, and the period stays */
	uint64_t random;	/* state of the generator; never 0 */
	uint64_t nr_missed;	/* ticks that came due before the previous one was over */
	/* Random parts of future gaps, of mean 1. Drawn many at a time: logarithms take long. */
	double drawn[SCHEDULE_DRAWN];
	uint32_t nr_drawn;
};

void schedule_init(struct schedule *schedule, uint64_t now_ns, uint64_t period_ns, uint64_t seed);
/* The tick of next_ns begins at now_ns: choose the following one. */
void schedule_advance(struct schedule *schedule, uint64_t now_ns);
/* The tick has lasted until now_ns: leave out those that came due meanwhile. */
void schedule_catch_up(struct schedule *schedule, uint64_t now_ns);
/* There were no ticks for a while, as during a pause, and none was due. */
void schedule_skip(struct schedule *schedule, uint64_t now_ns);
/* The next tick comes now, unless it was due before. The one after it stays. */
void schedule_hasten(struct schedule *schedule, uint64_t now_ns);
/* From the next advance on. */
void schedule_set_period(struct schedule *schedule, uint64_t period_ns);

#endif
