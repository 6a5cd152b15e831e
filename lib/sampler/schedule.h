/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_SCHEDULE_H
#define PROFC_SAMPLER_SCHEDULE_H

#include <stdint.h>

/*
 * When to look. Time is cut into equal periods and each holds one tick, at a
 * uniformly random place: a fixed rhythm would alias with timers of the target,
 * wholly random gaps would waste samples. Deadlines are absolute, so that a late
 * tick shifts no other.
 */
struct schedule {
	uint64_t period_ns;
	uint64_t period_start_ns; /* of the period that next_ns lies in */
	uint64_t next_ns;
	uint64_t random;    /* state of the generator; never 0 */
	uint64_t nr_missed; /* periods that ended before anyone looked */
};

void schedule_init(struct schedule *schedule, uint64_t now_ns, uint64_t period_ns, uint64_t seed);
/* The tick of next_ns was taken at now_ns: choose the one of the next period not yet begun. */
void schedule_advance(struct schedule *schedule, uint64_t now_ns);
/* From the next advance on. */
void schedule_set_period(struct schedule *schedule, uint64_t period_ns);

#endif
