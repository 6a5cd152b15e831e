// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/sampler_priv.h"

/*
 * Threads that sleep on are looked at in turn. Nothing is lost by looking late: the clocks say
 * how long it slept and ran, and that it did is found within a round, or by the process' clock.
 */

/*
 * So many idle threads are looked at in each tick: after milliseconds of rest each takes 4 us. A
 * crowd that no round gets through in time anyway is left to the clock of its process, and has
 * its looks in a few of the ticks: several in a row take less than half the time.
 */
#define IDLE_LOOKS  4
#define CROWD	    128
#define CROWD_LOOKS 12
#define CROWD_TICKS 12

bool round_is_crowded(const struct sampler *sampler)
{
	return round_is_crowd(sampler->nr_threads);
}

bool round_is_crowd(size_t nr_threads)
{
	return nr_threads >= CROWD;
}

/*
 * If many of those looked at have woken since their last turn, more are looked at: up to so many a
 * second, each of which then takes 30 us. Not where that is taken from others: ticks would come
 * rarer, to the harm of the threads that run.
 */
#define PACE_FLOOR 125
#define PACE_MOST  2000

static size_t per_tick(const struct sampler *sampler, uint64_t per_sec)
{
	return per_sec * sampler->schedule.period_ns / NS_PER_SEC;
}

/* Chosen anew after so many, which is twice as high or half, by the part of them that had woken. */
#define PACE_LOOKS     32
#define PACE_WOKEN     (PACE_LOOKS / 4)
#define PACE_FEW_WOKEN (PACE_LOOKS / 8)

static void choose_pace(struct round_pace *pace)
{
	if (pace->nr_woken >= PACE_WOKEN)
		pace->per_sec = min_u64(max_u64(pace->per_sec * 2, PACE_FLOOR), PACE_MOST);
	else if (pace->nr_woken < PACE_FEW_WOKEN)
		pace->per_sec = pace->per_sec > PACE_FLOOR ? pace->per_sec / 2 : 0;
	pace->nr_looks = 0;
	pace->nr_woken = 0;
}

static void look_in_turn(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	struct round_pace *pace = &sampler->pace;
	uint64_t pcount = thread->looked_pcount;
	bool was_seen = thread->was_seen;

	look_at(sampler, thread, now_ns);
	pace->nr_woken += was_seen && thread->looked_pcount != pcount;
	if (++pace->nr_looks == PACE_LOOKS)
		choose_pace(pace);
}

static void look_at_next(struct sampler *sampler, size_t nr, uint64_t now_ns)
{
	for (; nr > 0; nr--) {
		if (sampler->next_idle < sampler->nr_active ||
		    sampler->next_idle >= sampler->nr_threads)
			sampler->next_idle = sampler->nr_active;
		if (sampler->next_idle >= sampler->nr_threads)
			return;
		look_in_turn(sampler, sampler->threads[sampler->next_idle++], now_ns);
		serve_early(sampler);
	}
}

/* Of those that sleep but were seen to wake: so many a second at most, and one in each tick,
 * or in a few of the ticks where no CPU is idle. */
#define NAP_LOOKS 800

static size_t nr_naps(const struct sampler *sampler)
{
	if (!sampler->idle.some_idle)
		return sampler->counts.nr_ticks % CROWD_TICKS == 0;
	return 1 + per_tick(sampler, NAP_LOOKS);
}

static void look_at_naps(struct sampler *sampler, uint64_t now_ns)
{
	for (size_t most = nr_naps(sampler); most > 0; most--) {
		struct sampled_thread *thread = naps_take_due(&sampler->naps, now_ns);

		if (!thread)
			return;
		look_at(sampler, thread, now_ns);
		serve_early(sampler);
	}
}

/* Those of a tick at most, where some have never been looked at or one of them runs. */
#define HASTY_LOOKS 256
#define HASTY_STEP  4

/*
 * The first look at a thread takes 40 us. Where no CPU is idle, haste is paid for from what is
 * allowed, saved up to so much CPU time, and takes half of one at most: a tick that takes long
 * would else make those to come rarer, to the harm of the threads that run.
 */
#define MOST_CREDIT_NS (200 * NS_PER_MS)

static void save_credit(struct sampler *sampler)
{
	uint64_t most_ns = MOST_CREDIT_NS;
	uint64_t allowed_ns = governor_tick_allowance(&sampler->governor, sampler->nr_cpus) / 2;

	if (sampler->haste_credit_ns + allowed_ns < most_ns)
		most_ns = sampler->haste_credit_ns + allowed_ns;
	sampler->haste_credit_ns = most_ns;
}

static bool may_hurry(const struct sampler *sampler, uint64_t used_ns)
{
	return sampler->idle.some_idle || (used_ns < sampler->governor.base_period_ns / 2 &&
					   used_ns < sampler->haste_credit_ns);
}

static void look_at_unseen(struct sampler *sampler, size_t nr, uint64_t now_ns)
{
	for (; nr > 0 && sampler->nr_unseen; nr--) {
		look_at(sampler, sampler->unseen[0], now_ns);
		serve_early(sampler);
		serve_amid_looks(sampler);
	}
}

/* `nr` have been looked at in this tick; returns how many then have. */
static size_t hurry(struct sampler *sampler, size_t nr, size_t nr_idle, uint64_t now_ns)
{
	bool hunts = sampler->nr_hunted > 0;
	uint64_t began_ns = clock_thread_cpu_ns();
	uint64_t used_ns = 0;

	for (; nr < HASTY_LOOKS && nr < nr_idle && (hunts || sampler->nr_unseen) &&
	       may_hurry(sampler, used_ns);
	     nr += HASTY_STEP) {
		if (hunts)
			look_at_next(sampler, min_u64(HASTY_STEP, nr_idle - nr), now_ns);
		else
			look_at_unseen(sampler, HASTY_STEP, now_ns);
		used_ns = clock_thread_cpu_ns() - began_ns;
	}
	sampler->haste_ns = used_ns;
	sampler->haste_credit_ns -=
		used_ns < sampler->haste_credit_ns ? used_ns : sampler->haste_credit_ns;
	return min_u64(nr, nr_idle);
}

/* Beside those of nr_looks(). */
static size_t nr_at_pace(struct sampler *sampler, size_t nr_idle)
{
	struct round_pace *pace = &sampler->pace;
	size_t nr;

	if (nr_idle < CROWD || !sampler->idle.some_idle)
		return 0;
	pace->due_ns += pace->per_sec * sampler->schedule.period_ns;
	nr = pace->due_ns / NS_PER_SEC;
	pace->due_ns %= NS_PER_SEC;
	return min_u64(nr, nr_idle);
}

void round_begin(struct sampler *sampler)
{
	sampler->haste_credit_ns = MOST_CREDIT_NS;
}

static size_t nr_looks(const struct sampler *sampler, size_t nr_idle)
{
	if (nr_idle < CROWD)
		return min_u64(IDLE_LOOKS, nr_idle);
	return sampler->counts.nr_ticks % CROWD_TICKS ? 0 : CROWD_LOOKS;
}

void round_go_on(struct sampler *sampler, uint64_t now_ns)
{
	size_t nr_idle = sampler->nr_threads - sampler->nr_active;
	size_t nr = nr_looks(sampler, nr_idle);

	sampler->haste_ns = 0;
	save_credit(sampler);
	look_at_next(sampler, nr + nr_at_pace(sampler, nr_idle), now_ns);
	look_at_naps(sampler, now_ns);
	if (sampler->nr_unseen || sampler->nr_hunted)
		nr = hurry(sampler, nr, nr_idle, now_ns);
	sampler->nr_hunted -= min_u64(nr, sampler->nr_hunted);
}
