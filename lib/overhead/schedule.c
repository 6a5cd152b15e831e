// SPDX-License-Identifier: GPL-2.0-or-later
#include "overhead/schedule.h"

#include <assert.h>
#include <math.h>

#include "base/random.h"

/*
 * Samples at moments that do not depend on the past see each state of the target for its true share
 * of the time, even if samples influence the target ("Poisson arrivals see time averages"). For
 * example, a thread that gets the CPU of a stopped one begins its burst at a tick: with gaps of at
 * least half a period, no tick would ever see the first part of such a burst. So gaps are
 * exponential, except that they are not shorter than a tick itself takes, nor very long.
 */
#define LEAST_PART 8

static double random_exponential(struct schedule *schedule)
{
	double uniform = (double)(random_next(&schedule->random) >> 11) * 0x1p-53;
	double drawn = -log1p(-uniform);

	return drawn < SCHEDULE_MOST_PERIODS ? drawn : SCHEDULE_MOST_PERIODS;
}

static void draw(struct schedule *schedule)
{
	while (schedule->nr_drawn < SCHEDULE_DRAWN)
		schedule->drawn[schedule->nr_drawn++] = random_exponential(schedule);
}

static uint64_t random_gap_ns(struct schedule *schedule)
{
	uint64_t least_ns = schedule->period_ns / LEAST_PART;
	double mean_ns = (double)(schedule->period_ns - least_ns);

	if (!schedule->nr_drawn)
		draw(schedule);
	return least_ns + (uint64_t)(mean_ns * schedule->drawn[--schedule->nr_drawn]);
}

void schedule_init(struct schedule *schedule, uint64_t now_ns, uint64_t period_ns, uint64_t seed)
{
	assert(period_ns > 0);
	*schedule = (struct schedule){.period_ns = period_ns, .random = seed ? seed : 1};
	schedule->next_ns = now_ns + random_next(&schedule->random) % period_ns;
	schedule->after_next_ns = schedule->next_ns + random_gap_ns(schedule);
}

void schedule_catch_up(struct schedule *schedule, uint64_t now_ns)
{
	if (schedule->next_ns > now_ns)
		return;
	schedule->nr_missed += (now_ns - schedule->next_ns) / schedule->period_ns + 1;
	schedule->next_ns = now_ns + random_gap_ns(schedule);
	schedule->after_next_ns = schedule->next_ns + random_gap_ns(schedule);
}

void schedule_advance(struct schedule *schedule, uint64_t now_ns)
{
	schedule->next_ns = schedule->after_next_ns;
	schedule->after_next_ns = schedule->next_ns + random_gap_ns(schedule);
	schedule_catch_up(schedule, now_ns);
}

void schedule_skip(struct schedule *schedule, uint64_t now_ns)
{
	schedule->next_ns = now_ns + random_next(&schedule->random) % schedule->period_ns;
	schedule->after_next_ns = schedule->next_ns + random_gap_ns(schedule);
}

void schedule_hasten(struct schedule *schedule, uint64_t now_ns)
{
	if (schedule->next_ns > now_ns)
		schedule->next_ns = now_ns;
}

void schedule_set_period(struct schedule *schedule, uint64_t period_ns)
{
	assert(period_ns > 0);
	if (period_ns == schedule->period_ns)
		return;
	schedule->period_ns = period_ns;
	schedule->after_next_ns = schedule->next_ns + random_gap_ns(schedule);
}
