// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"

static struct account_clocks clocks_of(const struct snapshot *snapshot)
{
	return (struct account_clocks){.time_ns = snapshot->time_ns,
				       .cpu_ns = snapshot->cpu_ns,
				       .runq_ns = snapshot->runq_ns};
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

void look_sleeps_on(struct sampled_thread *thread, uint64_t pcount, uint64_t now_ns)
{
	if (!thread->was_seen || !thread->asleep || pcount != thread->pcount)
		return;
	thread->slept_until_ns = now_ns;
	thread->nr_slept++;
}

void look_tell_sleep(struct sampler *sampler, struct sampled_thread *thread)
{
	if (thread->nr_slept)
		sampler_tell(sampler, sighting_of(thread, thread->slept_until_ns));
}

/* A copy of no more than its content: the spare one keeps its large buffer, warm. */
static struct snapshot *copy_snapshot(struct sampler *sampler, const struct snapshot *snapshot)
{
	struct snapshot *copy = snapshot_ring_take(&sampler->used_snapshots);

	if (!copy)
		copy = xcalloc(1, sizeof(*copy));
	snapshot_copy(copy, snapshot);
	return copy;
}

void look_tell_new(struct sampler *sampler, struct sampled_thread *thread, enum sighting_kind kind)
{
	const struct snapshot *snapshot = sampler->spare;
	struct message *message = sighting_of(thread, snapshot->time_ns);
	struct message_sighting *sighting = &message->body.sighting;

	young_tell_maps(sampler, thread->process, snapshot->time_ns);
	sighting->name = young_name_at_look(thread, snapshot->pcount);
	sighting->is_new = true;
	sighting->kind = kind;
	sighting->clocks = clocks_of(snapshot);
	sighting->held_ns = thread->held_ns;
	places_tell(sampler, message);
	if (sampler_has_room(sampler, snapshot->nr_bytes)) {
		sighting->snapshot = copy_snapshot(sampler, snapshot);
		message->nr_bytes += sizeof(*snapshot) + snapshot->nr_bytes;
	}
	thread->held_ns = 0;
	thread->was_seen = true;
	thread->asleep = kind == SIGHTING_ASLEEP;
	/*
	 * Who sleeps may fall asleep again before an interrupt from elsewhere arrives, which then
	 * breaks off what it sleeps in. From its own CPU that hardly ever happens.
	 */
	if (thread->asleep && sampler->placement.realtime)
		beside_begin(thread);
	thread->pcount = snapshot->pcount;
	thread->slept_from_ns = thread->slept_until_ns = snapshot->time_ns;
	thread->slept_cpu_ns = snapshot->cpu_ns;
	sampler_tell(sampler, message);
}
