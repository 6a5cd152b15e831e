// SPDX-License-Identifier: GPL-2.0-or-later
#include <sched.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"
#include "target/target.h"

static void rehearse(struct sampler *sampler, struct sampled_thread *thread)
{
	if (sampler->placement.kind == PLACEMENT_AWAY)
		target_rehearse(thread->tracee, look_stack_limit(thread),
				look_spare_snapshot(sampler));
	else if (thread->tracee->cpu != sched_getcpu())
		target_is_elsewhere(thread->tracee);
}

/*
 * Where looks are rare the rehearsal takes as long as all else that is cold, and longer than the
 * interrupt takes to arrive, by some 5 us. Begun once that is on its way, it takes nearly all of
 * the time that we would only wait: 7 us of our CPU's less. At high rates it is short, and for each
 * of many looks the thread would stand longer.
 */
#define RARE_LOOKS_NS (5 * NS_PER_MS)

static bool rehearses_late(const struct sampler *sampler)
{
	return sampler->placement.kind == PLACEMENT_AWAY &&
	       sampler->schedule.period_ns >= RARE_LOOKS_NS;
}

void look_interrupt(struct sampler *sampler, struct sampled_thread *thread)
{
	bool rehearses = !thread->asked_at_once && !thread->displaced_ns;

	thread->from_elsewhere = !thread->displaced_ns && thread->tracee->cpu != sched_getcpu();
	if (thread->asked_at_once)
		target_is_elsewhere(thread->tracee); /* each 10 us count */
	else if (rehearses && !rehearses_late(sampler))
		rehearse(sampler, thread);
	if (!target_interrupt(sampler->target, thread->tracee))
		return;
	if (rehearses && rehearses_late(sampler))
		rehearse(sampler, thread);
	ARRAY_GROW(sampler->awaited, sampler->nr_awaited, sampler->cap_awaited);
	sampler->awaited[sampler->nr_awaited++] = thread;
	thread->nr_put_off = 0;
}

/* Asked from here, would it stop in calls more often than it is in them? */
static bool skids(const struct sampler *sampler, const struct sampled_thread *thread)
{
	return beside_is_better(thread) &&
	       placement_skids(&sampler->placement, thread->tracee->cpu);
}

/*
 * Driven off its CPU for this tick, and neither asleep now nor since it was looked at. Where it
 * moved meanwhile, it is as if it were asked from here.
 */
static bool is_displaced(struct sampler *sampler, struct sampled_thread *thread, uint64_t pcount)
{
	struct proc_schedstat clocks;
	int cpu = thread->tracee->cpu;
	uint64_t tick_ns = sampler->schedule.next_ns;

	if (sampler->chasing || !displacer_is_due(&sampler->displacer, cpu, tick_ns))
		return false;
	rehearse(sampler, thread); /* takes as long as all the rest */
	thread->displaced_ns = displacer_await(&sampler->displacer, cpu, tick_ns);
	return thread->displaced_ns && target_clocks(thread->tracee, &clocks) &&
	       clocks.pcount == pcount && target_still_runs(thread->tracee);
}

/*
 * Of threads that sleep and work for so long in turns all parts of their bursts are to be seen
 * equally often. To come to the CPU of one that was met takes 50 us and more, in which it has left
 * the first part; and where we are when the next look is due, its last part. But who may begin a
 * long transfer before it learns that it is to stop would have it cut off.
 */
#define BURST_NS       (10 * NS_PER_MS)
#define LOOKS_TO_LEARN 32

static bool asks_at_once(const struct sampled_thread *thread, uint64_t cpu_ns)
{
	return thread->nr_sleeps && thread->nr_told >= LOOKS_TO_LEARN &&
	       cpu_ns - thread->slept_cpu_ns < BURST_NS && !beside_calls_in_bursts(thread) &&
	       !target_makes_transfers(thread->tracee);
}

/* Where the call that it slept in last could be spoilt, make sure that it is over. */
void look_ask_to_stop(struct sampler *sampler, struct sampled_thread *thread,
		      const struct proc_schedstat *clocks)
{
	const struct target_care *care = &thread->tracee->care;
	uint64_t pcount = clocks->pcount;

	thread->asked_at_once = false;
	if (skids(sampler, thread) && !is_displaced(sampler, thread, pcount)) {
		thread->displaced_ns = 0;
		thread->asked_at_once = asks_at_once(thread, clocks->cpu_ns);
		if (!thread->asked_at_once) {
			chase_later(sampler, thread);
			return;
		}
	}
	/* Also after it was seen awake: who makes one long transfer makes more. */
	if (clocks->cpu_ns - thread->slept_cpu_ns < care->spoilt_cpu_ns) {
		sampler->counts.nr_spared++;
		return;
	}
	if (thread->asleep && care->late_signal && thread->awake_pcount != pcount) {
		thread->awake_pcount = pcount;
		ARRAY_GROW(sampler->revisits, sampler->nr_revisits, sampler->cap_revisits);
		sampler->revisits[sampler->nr_revisits++] = thread;
		return;
	}
	look_interrupt(sampler, thread);
}
