// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"
#include "target/target.h"

/* A sleeper is told about once a second, so that a recording cut short has it too. */
#define TELL_SLEEP_NS NS_PER_SEC

static struct account_clocks clocks_of(const struct snapshot *snapshot)
{
	return (struct account_clocks){.time_ns = snapshot->time_ns,
				       .cpu_ns = snapshot->cpu_ns,
				       .runq_ns = snapshot->runq_ns};
}

static struct snapshot *spare_snapshot(struct sampler *sampler)
{
	if (!sampler->spare)
		sampler->spare = xcalloc(1, sizeof(*sampler->spare));
	return sampler->spare;
}

/* What is known of the sleep that ended, or still lasts. */
static struct message *sighting_of(struct sampled_thread *thread, uint64_t now_ns)
{
	struct message *message = message_new(MESSAGE_SIGHTING, now_ns);
	struct message_sighting *sighting = &message->body.sighting;

	sighting->thread = thread->serial;
	if (thread->nr_slept) {
		sighting->slept_until_ns = thread->slept_until_ns;
		sighting->nr_slept = thread->nr_slept;
		thread->nr_slept = 0;
	}
	thread->told_ns = now_ns;
	return message;
}

void look_tell_sleep(struct sampler *sampler, struct sampled_thread *thread)
{
	if (thread->nr_slept)
		sampler_tell(sampler, sighting_of(thread, thread->slept_until_ns));
}

/* Send what sampler->spare was filled with. */
static void tell_new_look(struct sampler *sampler, struct sampled_thread *thread, bool running)
{
	struct snapshot *snapshot = sampler->spare;
	struct message *message = sighting_of(thread, snapshot->time_ns);
	struct message_sighting *sighting = &message->body.sighting;

	sighting->is_new = true;
	sighting->running = running;
	sighting->clocks = clocks_of(snapshot);
	sighting->held_ns = thread->held_ns;
	sighting->snapshot = snapshot;
	message->nr_bytes += sizeof(*snapshot) + snapshot->nr_bytes;
	sampler->spare = NULL;
	thread->held_ns = 0;
	thread->was_seen = true;
	thread->asleep = !running;
	thread->pcount = snapshot->pcount;
	thread->slept_until_ns = snapshot->time_ns;
	sampler_tell(sampler, message);
}

static size_t stack_limit(const struct sampled_thread *thread)
{
	return atomic_load_explicit(&thread->hints->max_stack_bytes, memory_order_relaxed);
}

void look_at_held(struct sampler *sampler, struct tracee *tracee)
{
	struct sampled_thread *thread = tracee->owner;
	struct snapshot *snapshot = spare_snapshot(sampler);
	bool taken = false;
	uint64_t hold_ns;

	if (thread && sampler->counting)
		taken = target_capture(tracee, stack_limit(thread), snapshot);
	target_resume(sampler->target, tracee);
	hold_ns = clock_monotonic_ns() - tracee->interrupted_ns;
	histogram_add(&sampler->counts.hold_ns, hold_ns);
	sampler->counts.nr_interrupted++;
	sampler->counts.cost_ns += hold_ns + GOVERNOR_WAKE_UP_NS;
	if (!thread)
		return;
	thread->held_ns += hold_ns;
	thread->window_held_ns += hold_ns;
	thread->window_stops++;
	/* It was running when it was asked to stop, but had fallen asleep before it did. */
	if (taken)
		tell_new_look(sampler, thread, snapshot->state == THREAD_STATE_RUNNING);
}

/* Nothing has happened since the last look: its stack still holds. */
static void still_the_same(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	if (!thread->asleep)
		return;
	thread->slept_until_ns = now_ns;
	thread->nr_slept++;
	if (now_ns - thread->told_ns >= TELL_SLEEP_NS)
		look_tell_sleep(sampler, thread);
}

static void look_afresh(struct sampler *sampler, struct sampled_thread *thread)
{
	struct snapshot *snapshot = spare_snapshot(sampler);

	switch (target_look(thread->tracee, stack_limit(thread), snapshot)) {
	case TARGET_LOOK_TAKEN:
		sampler->counts.nr_blocked_looks++;
		tell_new_look(sampler, thread, false);
		break;
	case TARGET_LOOK_RUNNING:
		target_interrupt(sampler->target, thread->tracee);
		break;
	case TARGET_LOOK_CHANGED:
		/* It wakes and sleeps faster than it can be read: the next tick may do better. */
		sampler->counts.nr_torn_looks++;
		break;
	case TARGET_LOOK_GONE:
		break;
	}
}

static void look_at(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	struct proc_schedstat clocks;

	if (thread->tracee->interrupting) {
		sampler->counts.nr_unfinished_stops++;
		return;
	}
	if (!target_clocks(thread->tracee, &clocks))
		return;
	if (thread->was_seen && clocks.pcount == thread->pcount)
		still_the_same(sampler, thread, now_ns);
	else if (!thread->tracee->listening)
		look_afresh(sampler, thread);
}

void look_at_all(struct sampler *sampler, uint64_t now_ns)
{
	for (size_t i = 0; i < sampler->nr_threads; i++)
		look_at(sampler, sampler->threads[i], now_ns);
}
