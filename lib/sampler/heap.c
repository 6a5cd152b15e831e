// SPDX-License-Identifier: GPL-2.0-or-later
/* Sampled allocations, from the memory that processes share with us to the collector. */
#include "base/clock.h"
#include "probe/heap_record.h"
#include "probe/heap_ring.h"
#include "probe/prober.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"

/* How much is sampled is looked at so often. */
#define ADAPT_NS (100 * NS_PER_MS)

struct drain {
	struct sampler *sampler;
	const struct sampled_process *ending; /* the last that is published of it */
	uint64_t now_ns;
	uint32_t stack_bytes; /* the most that walks of these threads need */
};

/*
 * Where a record belongs: forked children write into their parent's memory, and say their own id. A
 * process in a PID namespace says another than we know: it is taken for the owner.
 */
static const struct sampled_process *process_of(const struct drain *drain, uint32_t owner,
						pid_t owner_pid, const struct heap_record *record)
{
	const struct sampler *sampler = drain->sampler;
	const struct roster_process *found =
		record->pid == owner_pid ? NULL : roster_find_process(sampler->roster, record->pid);

	if (found)
		return found->owner;
	if (drain->ending && drain->ending->serial == owner)
		return drain->ending;
	found = roster_find_process(sampler->roster, owner_pid);
	if (found && ((const struct sampled_process *)found->owner)->serial == owner)
		return found->owner;
	return NULL;
}

/* NULL: there was no room for its stack. */
static struct snapshot *snapshot_of(struct sampler *sampler, const struct sampled_process *process,
				    const struct roster_thread *thread,
				    const struct heap_record *record)
{
	struct snapshot *snapshot;

	if (!record->nr_stack_bytes ||
	    !collector_has_room(sampler->collector, record->nr_stack_bytes)) {
		sampler->counts.nr_dropped_stacks++;
		return NULL;
	}
	snapshot = collector_take_snapshot(sampler->collector);
	heap_record_fill_snapshot(record, snapshot);
	snapshot->tgid = process->roster->pid;
	if (thread) {
		snapshot->first_sp = thread->tracee.stacks.first_sp;
		snapshot->thread_pointer = thread->tracee.stacks.thread_pointer;
	}
	return snapshot;
}

/* What was done while nothing was counted is not recorded. */
static bool is_counting(const struct sampler *sampler, const struct heap_record *record)
{
	return sampler->session->counting && record->time_ns >= sampler->counts.counting_since_ns;
}

static void publish_record(const struct drain *drain, const struct sampled_process *process,
			   const struct roster_thread *thread, const struct heap_record *record)
{
	struct sampler *sampler = drain->sampler;
	bool is_new = record->kind == HEAP_RECORD_ALLOCATION;
	struct message *message =
		message_new(is_new ? MESSAGE_BLOCK : MESSAGE_BLOCK_FREED, record->time_ns);
	struct message_block *block = &message->body.block;

	block->process = process->serial;
	block->tid = record->tid;
	block->address = record->pointer;
	block->wants_stack = record->wants_stack && is_counting(sampler, record);
	block->is_move = is_new ? record->was_sampled : heap_record_is_move(record);
	if (is_new) {
		block->former = record->old;
		block->size_bytes = record->size;
		block->mean_bytes = record->mean;
		block->kind = (uint8_t)heap_record_allocation_kind(record);
	}
	if (block->wants_stack)
		block->snapshot = snapshot_of(sampler, process, thread, record);
	collector_publish(sampler->collector, message);
}

static void note_need(struct drain *drain, const struct roster_thread *roster)
{
	const struct sampled_thread *thread = roster ? roster->owner : NULL;
	uint32_t wanted;

	if (!thread || !thread->hints)
		return;
	wanted = atomic_load_explicit(&thread->hints->block_stack_bytes, memory_order_relaxed);
	if (wanted > drain->stack_bytes)
		drain->stack_bytes = wanted;
}

/*
 * What was allocated while nothing was counted is not recorded; that a block is freed is, always.
 * One of which that would not be seen is taken for one that was lost: it would pass for a leak.
 */
static bool is_recorded(const struct sampler *sampler, const struct heap_record *record)
{
	if (record->kind == HEAP_RECORD_FREE)
		return true;
	/* That a realloc() has failed undoes what no view shows: one in millions. */
	return record->kind == HEAP_RECORD_ALLOCATION && !record->is_untracked &&
	       is_counting(sampler, record);
}

/* Once around at most: a target that allocates ever on would keep us here. */
static void drain_ring(void *context, uint32_t serial, pid_t pid, struct heap_ring *heap)
{
	struct drain *drain = context;
	uint64_t begun_at = heap->next;
	struct heap_record record;

	while (heap->next - begun_at < HEAP_RING_BYTES &&
	       heap_ring_next(heap, drain->now_ns, &record)) {
		const struct sampled_process *process = process_of(drain, serial, pid, &record);
		const struct roster_thread *thread =
			roster_find_thread(drain->sampler->roster, record.tid);

		if (process && is_recorded(drain->sampler, &record))
			publish_record(drain, process, thread, &record);
		note_need(drain, thread);
	}
}

void heap_drain(struct sampler *sampler, const struct sampled_process *ending)
{
	struct drain drain = {.sampler = sampler, .ending = ending, .now_ns = clock_monotonic_ns()};

	if (!sampler->options.prober || !prober_has_heap(sampler->options.prober))
		return;
	prober_for_each_heap(sampler->options.prober, drain_ring, &drain);
	if (drain.now_ns < sampler->session->heap_again_ns)
		return;
	sampler->session->heap_again_ns = drain.now_ns + ADAPT_NS;
	prober_adapt_heap(sampler->options.prober, drain.stack_bytes);
}
