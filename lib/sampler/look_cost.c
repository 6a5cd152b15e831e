// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"

/*
 * Who has to wait for a CPU first stops long after it was asked to. It had not when all who are
 * awaited were last asked after, nor while we slept: the next stop would have woken us.
 */
uint64_t look_stopped_ns(const struct sampler *sampler, const struct look_held *held)
{
	if (sampler->heard_ns <= held->asked_ns)
		return held->snapshot->time_ns;
	return min_u64(sampler->heard_ns, held->snapshot->time_ns);
}

/* Of our CPU, since the tick began. At real-time priority it is ours while we do not sleep. */
static uint64_t used_since_tick_ns(const struct sampler *sampler)
{
	if (!sampler->placement.realtime)
		return clock_thread_cpu_ns() - sampler->tick_cpu_ns;
	return clock_monotonic_ns() - sampler->tick_ns - sampler->tick_slept_ns;
}

/*
 * Of what it waited for a CPU since it was asked. A wait that had begun before the tick is none of
 * our doing. One that began at it is, as far as we have used the CPU ourselves; the rest others
 * have, which is the scheduler's choice.
 */
static uint64_t our_wait_ns(const struct sampler *sampler, const struct look_held *held)
{
	uint64_t length_ns = held->let_go_ns - held->asked_ns;

	if (held->kind != SEEN_RUNNING || !held->waited_ns ||
	    held->thread->looked_ns != sampler->tick_ns)
		return 0;
	return min_u64(min_u64(held->waited_ns, length_ns), used_since_tick_ns(sampler));
}

/* From a stop to our being awake. */
#define WAKE_UP_NS (10 * NS_PER_US)

/* From stopping to letting go, or from asking, if it stopped at once. */
static uint64_t stood_ns(const struct sampler *sampler, const struct look_held *held)
{
	uint64_t length_ns = held->let_go_ns - held->asked_ns;
	uint64_t most_ns = held->let_go_ns + WAKE_UP_NS - sampler->heard_ns;

	/* How much of a wait was before it was asked is not known. */
	if (held->kind == SEEN_RUNNING)
		length_ns -= min_u64(held->waited_ns, length_ns);
	return min_u64(length_ns, most_ns);
}

struct governor_cost look_window_cost(const struct sampler *sampler,
				      const struct sampled_thread *thread)
{
	if (thread->window_start_ns != sampler->window_start_ns)
		return (struct governor_cost){0};
	return thread->window_cost;
}

/* The worst is kept as it grows: to go through thousands for it takes as long as a tick does. */
static void count_in_window(struct sampler *sampler, struct sampled_thread *thread,
			    uint64_t cost_ns)
{
	struct governor_cost cost = look_window_cost(sampler, thread);

	cost.cost_ns += cost_ns;
	cost.nr_stops++;
	thread->window_cost = cost;
	thread->window_start_ns = sampler->window_start_ns;
	if (cost.cost_ns > sampler->worst_cost.cost_ns)
		sampler->worst_cost = cost;
}

/*
 * What a stop costs: how long it stood or waited for us, and the wake-up. Others have used the CPU
 * meanwhile that it waited for when it was asked, and it would have gone on waiting.
 */
static uint64_t cost_ns(const struct sampler *sampler, const struct look_held *held,
			uint64_t hold_ns)
{
	uint64_t wake_up_ns = sampler->spinning ? GOVERNOR_SPUN_WAKE_UP_NS : GOVERNOR_WAKE_UP_NS;

	return wake_up_ns + (held->kind == SEEN_RUNNABLE ? 0 : hold_ns);
}

void look_count_cost(struct sampler *sampler, const struct look_held *held)
{
	uint64_t stood = stood_ns(sampler, held);
	uint64_t hold_ns = stood + our_wait_ns(sampler, held);
	uint64_t cost = cost_ns(sampler, held, hold_ns);

	histogram_add(&sampler->counts.hold_ns, hold_ns);
	sampler->counts.nr_interrupted++;
	sampler->counts.nr_spun += sampler->spinning;
	sampler->counts.cost_ns += cost;
	held->thread->held_ns += stood;
	count_in_window(sampler, held->thread, cost);
}
