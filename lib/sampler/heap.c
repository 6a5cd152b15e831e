// SPDX-License-Identifier: GPL-2.0-or-later
/* Sampled allocations, from the memory that processes share with us to the collector. */
#include "base/alloc.h"
#include "base/clock.h"
#include "heap/heap_record.h"
#include "heap/heap_ring.h"
#include "heap/reach.h"
#include "probe/prober.h"
#include "sampler/heap_children_priv.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"

/* How much is sampled is looked at so often. */
#define ADAPT_NS (100 * NS_PER_MS)

struct drain {
	struct sampler *sampler;
	const struct sampled_process *ending; /* the last that is published of it */
	bool is_last; /* all that there is, however far behind the collector is */
	uint64_t now_ns;
	uint32_t stack_bytes;	/* the most that walks of these threads need */
	struct message *blocks; /* where all are recorded: not yet published; or NULL */
	struct reach *reach;	/* NULL: nothing is searched for */
	struct heap_family family;
};

/* NULL: it is not known any more. */
static const struct sampled_process *owner_of(const struct drain *drain, uint32_t owner,
					      pid_t owner_pid)
{
	const struct roster_process *found;

	if (drain->ending && drain->ending->serial == owner)
		return drain->ending;
	found = roster_find_process(drain->sampler->roster, owner_pid);
	if (found && ((const struct sampled_process *)found->owner)->serial == owner)
		return found->owner;
	return NULL;
}

/*
 * A child of a process with threads may be known by the id of another thread than its first, where
 * that one has come first to our code.
 */
static struct roster_process *find_process(const struct sampler *sampler, pid_t id)
{
	struct roster_process *process = roster_find_process(sampler->roster, id);
	struct roster_thread *thread = process ? NULL : roster_find_thread(sampler->roster, id);

	return thread ? thread->process : process;
}

/*
 * Where a record belongs: forked children write into their parent's memory, and say their own id. A
 * process in a PID namespace says another than we know: it is taken for the owner.
 */
static const struct sampled_process *process_of(struct drain *drain, uint32_t owner,
						pid_t owner_pid, const struct heap_record *record)
{
	const struct roster_process *found =
		record->pid == owner_pid ? NULL : find_process(drain->sampler, record->pid);
	const struct sampled_process *process = found ? found->owner : NULL;
	const struct sampled_process *child = NULL;

	/* A record that names another process is believed if that process may write there. */
	if (process)
		return prober_is_writer(drain->sampler->options.prober, owner, process->serial)
			       ? process
			       : owner_of(drain, owner, owner_pid);
	process = owner_of(drain, owner, owner_pid);
	if (process && record->pid != owner_pid)
		child = heap_child_of(drain->sampler, &drain->family, process, record->pid,
				      record->time_ns);
	return child ? child : process;
}

/*
 * Is it of a child that is not to be recorded, or that does not know its own id, as fork(2) of the
 * C library has not made it? That one says none, or that of the thread which made it.
 */
static bool is_strange(struct drain *drain, pid_t owner_pid, const struct heap_record *record)
{
	const struct roster_process *found;

	if (record->pid == owner_pid)
		return false;
	if (record->pid <= 0 ||
	    heap_is_stranger(drain->sampler, &drain->family, owner_pid, record->pid))
		return true;
	found = find_process(drain->sampler, record->pid);
	return found && found->pid == owner_pid;
}

/* NULL: there was no room for its stack. */
static struct snapshot *snapshot_of(struct sampler *sampler, const struct sampled_process *process,
				    const struct roster_thread *thread,
				    const struct heap_record *record)
{
	struct snapshot *snapshot;

	/* Others will be known by one that has a signature. */
	if (!record->nr_stack_bytes ||
	    (!record->signature &&
	     !collector_has_room(sampler->collector, record->nr_stack_bytes))) {
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
	const struct heap_session *heap = &sampler->session->heap;

	return record->time_ns >= heap->from_ns && record->time_ns < heap->to_ns;
}

static void publish_record(const struct drain *drain, const struct sampled_process *process,
			   const struct roster_thread *thread, uint32_t signer,
			   const struct heap_record *record)
{
	struct sampler *sampler = drain->sampler;
	bool is_new = record->kind == HEAP_RECORD_ALLOCATION;
	struct message *message =
		message_new(is_new ? MESSAGE_BLOCK : MESSAGE_BLOCK_FREED, record->time_ns);
	struct message_block *block = &message->body.block;

	block->process = process->serial;
	block->tid = record->tid;
	block->address = record->pointer;
	block->wants_stack =
		record->wants_stack && (!record->pointer || is_counting(sampler, record));
	block->is_move = is_new ? record->was_sampled : heap_record_is_move(record);
	block->is_kept = record->kind == HEAP_RECORD_KEPT;
	block->size_bytes = record->size;
	block->kind = (uint8_t)heap_record_allocation_kind(record);
	if (is_new) {
		block->former = record->old;
		block->mean_bytes = record->mean;
		block->signer = signer;
		block->signature = record->signature;
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

/* Blocks allocated while nothing was counted are not recorded; frees always are. */
static bool is_recorded(const struct sampler *sampler, const struct heap_record *record)
{
	if (record->kind == HEAP_RECORD_FREE)
		return true;
	return record->kind == HEAP_RECORD_KEPT ||
	       (record->kind == HEAP_RECORD_ALLOCATION && is_counting(sampler, record));
}

/* --- where all are recorded --- */

/* Messages of so many bytes are on their way to the collector at least, */
#define ROOM_BYTES ((size_t)256 << 10)
/* and so many of records are taken at a tick at most: others are to be sampled, too. */
#define TICK_BYTES ((size_t)16 << 20)

static void publish_blocks(struct drain *drain)
{
	if (drain->blocks)
		collector_publish(drain->sampler->collector, drain->blocks);
	drain->blocks = NULL;
}

static struct message_blocks *blocks_of(struct drain *drain, uint32_t process, uint32_t signer,
					uint64_t time_ns)
{
	struct message_blocks *blocks = drain->blocks ? &drain->blocks->body.blocks : NULL;

	if (blocks && (blocks->nr == MESSAGE_BLOCKS_MAX || blocks->process != process ||
		       blocks->signer != signer))
		publish_blocks(drain);
	if (!drain->blocks) {
		drain->blocks = message_new(MESSAGE_BLOCKS, time_ns);
		blocks = &drain->blocks->body.blocks;
		blocks->process = process;
		blocks->signer = signer;
		blocks->rows = xcalloc(MESSAGE_BLOCKS_MAX, sizeof(*blocks->rows));
	}
	return blocks;
}

static enum message_block_event event_of(const struct heap_record *record)
{
	if (record->kind == HEAP_RECORD_ALLOCATION)
		return BLOCK_ALLOCATED;
	if (record->kind == HEAP_RECORD_KEPT)
		return BLOCK_KEPT;
	return heap_record_is_move(record) ? BLOCK_MOVED : BLOCK_FREED;
}

static void gather_record(struct drain *drain, uint32_t process, uint32_t signer,
			  const struct heap_record *record)
{
	struct message_blocks *blocks = blocks_of(drain, process, signer, record->time_ns);

	blocks->rows[blocks->nr++] =
		(struct message_block_row){.time_ns = record->time_ns,
					   .address = record->pointer,
					   .size_bytes = record->size,
					   .signature = record->signature,
					   .former = record->old,
					   .tid = record->tid,
					   .event = (uint8_t)event_of(record),
					   .kind = (uint8_t)heap_record_allocation_kind(record)};
}

/* That a realloc() has failed is told, as all else is. */
static bool is_one_of_all(const struct sampler *sampler, const struct heap_record *record)
{
	return record->kind != HEAP_RECORD_ALLOCATION || is_counting(sampler, record);
}

/* Its stack comes once: others have the signature only, also after a pause. */
static void publish_stack(struct drain *drain, const struct sampled_process *process,
			  uint32_t signer, bool is_recorded, struct heap_record *record)
{
	const struct roster_thread *thread =
		roster_find_thread(drain->sampler->roster, record->tid);

	if (!is_recorded)
		record->pointer = 0;
	publish_blocks(drain);
	publish_record(drain, process, thread, signer, record);
	note_need(drain, thread);
}

/* A block that a realloc() failed to move is not searched for. */
static void note_for_search(const struct drain *drain, uint32_t process,
			    const struct heap_record *record)
{
	if (!drain->reach)
		return;
	if (record->kind == HEAP_RECORD_ALLOCATION)
		reach_add(drain->reach, process, record->pointer, record->size);
	else if (record->kind == HEAP_RECORD_FREE)
		reach_remove(drain->reach, process, record->pointer);
}

/* Stacks that are new, and mappings. Of what is freed a whole record tells no more than a brief
 * one. */
static bool is_one_by_one(const struct heap_record *record)
{
	return record->has_stack &&
	       (record->kind == HEAP_RECORD_ALLOCATION || record->function >= HEAP_MAP);
}

/* What the target has no room for while the collector is behind, it waits with. */
static void drain_all(struct drain *drain, uint32_t serial, pid_t pid, struct heap_ring *heap)
{
	struct sampler *sampler = drain->sampler;
	uint64_t begun_at = heap->next, head = heap_ring_visit(heap);
	const struct sampled_process *process = NULL;
	struct heap_record record;
	bool is_recorded, is_stranger = false;
	pid_t of_pid = 0;

	while ((drain->is_last ||
		((drain->blocks || collector_has_room(sampler->collector, ROOM_BYTES)) &&
		 heap->next - begun_at < TICK_BYTES)) &&
	       (int64_t)(head - heap->next) > 0 && heap_ring_next(heap, drain->now_ns, &record)) {
		if (!process || record.pid != of_pid) {
			process = process_of(drain, serial, pid, &record);
			is_stranger = is_strange(drain, pid, &record);
		}
		if (drain->family.waits) {
			heap_ring_put_back(heap);
			break;
		}
		of_pid = record.pid;
		is_recorded = is_one_of_all(sampler, &record) && !is_stranger;
		if (is_recorded)
			heap_ring_count(heap, &record);
		if (process && is_recorded)
			note_for_search(drain, process->serial, &record);
		if (process && is_one_by_one(&record))
			publish_stack(drain, process, serial, is_recorded, &record);
		else if (process && is_recorded)
			gather_record(drain, process->serial, serial, &record);
	}
	publish_blocks(drain);
}

/*
 * Once around at most: a target that allocates ever on would keep us here. While the collector is
 * behind, records stay in the ring, where fewer are added the fuller it is: so no stack is lost.
 */
static void drain_ring(void *context, uint32_t serial, pid_t pid, struct heap_ring *heap)
{
	struct drain *drain = context;
	uint64_t begun_at = heap->next;
	struct heap_record record;

	drain->family.waits = false;
	if (heap->all) {
		drain_all(drain, serial, pid, heap);
		return;
	}
	heap_ring_visit(heap);
	while ((drain->is_last || !collector_is_behind(drain->sampler->collector)) &&
	       heap->next - begun_at < HEAP_RING_BYTES &&
	       heap_ring_next(heap, drain->now_ns, &record)) {
		const struct sampled_process *process = process_of(drain, serial, pid, &record);
		const struct roster_thread *thread =
			roster_find_thread(drain->sampler->roster, record.tid);
		bool is_stranger = is_strange(drain, pid, &record);

		if (drain->family.waits) {
			heap_ring_put_back(heap);
			return;
		}
		heap->has_strangers |= is_stranger;
		if (process && !is_stranger && is_recorded(drain->sampler, &record)) {
			note_for_search(drain, process->serial, &record);
			publish_record(drain, process, thread, serial, &record);
		}
		note_need(drain, thread);
	}
}

static bool has_heap(const struct sampler *sampler)
{
	return sampler->options.prober && prober_has_heap(sampler->options.prober);
}

void heap_drain(struct sampler *sampler, const struct sampled_process *ending, bool is_last)
{
	struct drain drain = {.sampler = sampler,
			      .ending = ending,
			      .is_last = ending || is_last,
			      .now_ns = clock_monotonic_ns()};

	drain.family.is_last = drain.is_last;
	if (!has_heap(sampler))
		return;
	drain.reach = prober_reach(sampler->options.prober);
	prober_for_each_heap(sampler->options.prober, drain_ring, &drain);
	prober_answer_heaps(sampler->options.prober, drain.now_ns);
	heap_end_children(sampler, drain.is_last);
	if (drain.now_ns < sampler->session->heap.adapt_again_ns)
		return;
	sampler->session->heap.adapt_again_ns = drain.now_ns + ADAPT_NS;
	prober_adapt_heap(sampler->options.prober, drain.stack_bytes);
}

/* All that was allocated up to now, and the exact totals of that, are in the queue. */
static void tell_memory(struct sampler *sampler, bool discards)
{
	struct message *message;

	pthread_mutex_lock(&sampler->lock);
	heap_drain(sampler, NULL, true);
	message = message_new(MESSAGE_ROWS, clock_monotonic_ns());
	message->body.rows =
		prober_take_moments(sampler->options.prober, message->time_ns, discards);
	if (discards)
		sampler->session->heap.from_ns = message->time_ns;
	collector_publish(sampler->collector, message);
	pthread_mutex_unlock(&sampler->lock);
}

void sampler_discard_memory(struct sampler *sampler)
{
	tell_memory(sampler, true);
}

void sampler_cut(struct sampler *sampler, struct collector_cut *cut)
{
	if (has_heap(sampler))
		tell_memory(sampler, false);
	collector_cut(sampler->collector, cut);
}
