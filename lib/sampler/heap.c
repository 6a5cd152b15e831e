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

/* The sampling rate of allocations is adapted so often. */
#define ADAPT_NS (100 * NS_PER_MS)

struct drain {
	struct sampler *sampler;
	const struct sampled_process *ending; /* a process whose last records these are, or NULL */
	bool is_last;			      /* drain all records, however late the collector is */
	uint64_t now_ns;
	uint32_t stack_bytes;	/* the most that any walk has needed */
	struct message *blocks; /* with all allocations: not yet published; or NULL */
	struct reach *reach;	/* NULL: without a search */
	struct heap_family family;
};

/* NULL: profc no longer knows it. */
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
 * Our code in the target may know a process by the id of another thread than its leader, if that
 * thread was the first to reach it.
 */
static struct roster_process *find_process(const struct sampler *sampler, pid_t id)
{
	struct roster_process *process = roster_find_process(sampler->roster, id);
	struct roster_thread *thread = process ? NULL : roster_find_thread(sampler->roster, id);

	return thread ? thread->process : process;
}

/*
 * The process of a record. Forked children write into their parent's memory, with their own id. If
 * profc does not know the id, as with a process in a PID namespace, the owner is taken.
 */
static const struct sampled_process *process_of(struct drain *drain, uint32_t owner,
						pid_t owner_pid, const struct heap_record *record)
{
	const struct roster_process *found =
		record->pid == owner_pid ? NULL : find_process(drain->sampler, record->pid);
	const struct sampled_process *process = found ? found->owner : NULL;
	const struct sampled_process *child = NULL;

	/* Accept another process only if it may write there. */
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
 * Does the record belong to a child that is not recorded, or that does not know its own id because
 * it was not made by the C library's fork()? Such a child writes no id, or that of its creator.
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

/* NULL: there is no memory for its stack. */
static struct snapshot *snapshot_of(struct sampler *sampler, const struct sampled_process *process,
				    const struct roster_thread *thread,
				    const struct heap_record *record)
{
	struct snapshot *snapshot;

	/* Later records with the same signature refer to this stack. */
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

/* Was the recording counting at the time of the record? */
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

/* --- with all allocations (--mem=all) --- */

/* At least so many bytes of messages may be queued for the collector, */
#define ROOM_BYTES ((size_t)256 << 10)
/* and a tick takes at most so many bytes of records, to leave time for samples. */
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

/* All records count, also that of a realloc() that failed. */
static bool is_one_of_all(const struct sampler *sampler, const struct heap_record *record)
{
	return record->kind != HEAP_RECORD_ALLOCATION || is_counting(sampler, record);
}

/* Publish a stack once: later records have only its signature, also after a pause. */
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

/* Note a block for the search, unless a realloc() failed to move it. */
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

/* New stacks, and mappings. For a freed block, a whole record says no more than a brief one. */
static bool is_one_by_one(const struct heap_record *record)
{
	return record->has_stack &&
	       (record->kind == HEAP_RECORD_ALLOCATION || record->function >= HEAP_MAP);
}

/* While the collector is late, records stay in the ring, and the target waits if that is full. */
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
 * At most the length of the ring: a target that allocates all the time would keep us here. While
 * the collector is late, records stay in the ring. The fuller it is, the fewer the target adds, so
 * that no stack is lost.
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

/* Queue all allocations up to now, and then their exact totals. */
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
