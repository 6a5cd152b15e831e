// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/schedule.h"

#include <assert.h>

/* xorshift64: plenty for spreading ticks, and the same sequence for the same seed. */
static uint64_t next_random(struct schedule *schedule)
{
	uint64_t x = schedule->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	schedule->random = x;
	return x;
}

static void place_tick(struct schedule *schedule)
{
	schedule->next_ns = schedule->period_start_ns + next_random(schedule) % schedule->period_ns;
}

void schedule_init(struct schedule *schedule, uint64_t now_ns, uint64_t period_ns, uint64_t seed)
{
	assert(period_ns > 0);
	*schedule = (struct schedule){
		.period_ns = period_ns,
		.period_start_ns = now_ns,
		.random = seed ? seed : 1,
	};
	place_tick(schedule);
}

void schedule_advance(struct schedule *schedule, uint64_t now_ns)
{
	schedule->period_start_ns += schedule->period_ns;
	/* The period that now_ns lies in may still be used whole by nobody: skip to the next. */
	if (schedule->period_start_ns + schedule->period_ns <= now_ns) {
		uint64_t behind = (now_ns - schedule->period_start_ns) / schedule->period_ns;

		schedule->nr_missed += behind;
		schedule->period_start_ns += behind * schedule->period_ns;
	}
	place_tick(schedule);
}

void schedule_set_period(struct schedule *schedule, uint64_t period_ns)
{
	assert(period_ns > 0);
	if (period_ns == schedule->period_ns)
		return;
	/* Keep the place where the current period ends: the new ones begin there. */
	schedule->period_start_ns += schedule->period_ns;
	schedule->period_ns = period_ns;
	schedule->period_start_ns -= period_ns;
}
