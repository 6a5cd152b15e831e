// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/sampler_priv.h"
#include "target/target.h"

/*
 * Each takes 20 to 50 us. Where more threads than that want it, most of them only wait for a CPU,
 * and those on ours will do.
 */
#define CHASES_PER_TICK 4

/*
 * So many looks in a row may be put off: where we sleep is chosen at random among their CPUs.
 * Of a thread that may be over soon, or that slept until now, none: such a sight is rare, and
 * where one is lost, its time stays with what it was met in before, or with nothing.
 */
#define PATIENCE  3
#define NEW_LOOKS 16

static uint32_t patience(const struct sampled_thread *thread)
{
	return thread->asleep || thread->nr_told < NEW_LOOKS ? 0 : PATIENCE;
}

void chase_begin_tick(struct sampler *sampler)
{
	sampler->counts.nr_elsewhere += sampler->nr_chased;
	sampler->nr_chased = 0;
	sampler->nr_chases = 0;
}

void chase_later(struct sampler *sampler, struct sampled_thread *thread)
{
	if (sampler->chasing || thread->nr_put_off++ < patience(thread)) {
		sampler->counts.nr_elsewhere++;
		return;
	}
	ARRAY_GROW(sampler->chased, sampler->nr_chased, sampler->cap_chased);
	sampler->chased[sampler->nr_chased++] = thread;
}

void chase_remove_thread(struct sampler *sampler, const struct sampled_thread *thread)
{
	for (size_t i = 0; i < sampler->nr_chased; i++) {
		if (sampler->chased[i] == thread)
			sampler->chased[i--] = sampler->chased[--sampler->nr_chased];
	}
}

/* It takes CPU time like what a tick does, in one that is measured, too. */
static void chase(struct sampler *sampler, struct sampled_thread *thread)
{
	uint64_t now_ns = clock_monotonic_ns(); /* our coming makes it wait */
	uint64_t began_ns = sampler->tick_cpu_ns ? clock_thread_cpu_ns() : 0;

	sampler->nr_chases++;
	placement_move(&sampler->placement, PLACEMENT_BESIDE, thread->tracee->cpu);
	sampler->chasing = true;
	look_at(sampler, thread, now_ns);
	sampler->chasing = false;
	if (began_ns)
		sampler->ticks_cpu_ns += clock_thread_cpu_ns() - began_ns;
}

bool chase_next(struct sampler *sampler)
{
	if (sampler->nr_chased + sampler->nr_chases > CHASES_PER_TICK)
		return false;
	while (sampler->nr_chased) {
		struct sampled_thread *thread = sampler->chased[--sampler->nr_chased];

		chase(sampler, thread);
		if (thread->tracee->interrupting)
			return true;
	}
	return false;
}
