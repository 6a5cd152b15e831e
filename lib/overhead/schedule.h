/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_SCHEDULE_H
#define PROFC_OVERHEAD_SCHEDULE_H

#include <stdint.h>

/*
 * When to sample. The gaps between ticks are random, and the next is not foretold by the last: an
 * eighth of a period and an exponential rest, up to six periods. A fixed rhythm would alias with
 * the target's own, and so would one tick at a random place of each period, because a sample
 * stands for the time since the one before it, which is longer the later in its period it falls.
 * Deadlines follow from deadlines, so that a late tick shifts no other.
 */
#define SCHEDULE_DRAWN 16
/* No gap is longer than so many periods, if no tick of them is missed. */
#define SCHEDULE_MOST_PERIODS 6

struct schedule {
	uint64_t period_ns; /* the mean gap */
	uint64_t next_ns;
	uint64_t after_next_ns; /* if that is taken in time, and the period stays */
	uint64_t random;	/* state of the generator; never 0 */
	uint64_t nr_missed;	/* ticks that were due before the one before them was taken */
	/* Random parts of gaps to come, of a mean of 1: many at a time, logarithms take long. */
	double drawn[SCHEDULE_DRAWN];
	uint32_t nr_drawn;
};

void schedule_init(struct schedule *schedule, uint64_t now_ns, uint64_t period_ns, uint64_t seed);
/* The tick of next_ns was taken at now_ns: choose the next one after that. */
void schedule_advance(struct schedule *schedule, uint64_t now_ns);
/* That tick has lasted until now_ns: what was due meanwhile is left out. */
void schedule_catch_up(struct schedule *schedule, uint64_t now_ns);
/* There were no ticks for a while, and none were due. */
void schedule_skip(struct schedule *schedule, uint64_t now_ns);
/* From the next advance on. */
void schedule_set_period(struct schedule *schedule, uint64_t period_ns);

#endif
