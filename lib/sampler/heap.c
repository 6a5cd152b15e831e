// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads allocations, on the collector's thread, from the memory that processes share with us: a
 * block source (collector/block_source.h). The sampler's lock is taken only to ask for a process or
 * a thread that the collector does not know yet.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "heap/heap_record.h"
#include "heap/heap_ring.h"
#include "heap/reach.h"
#include "probe/prober.h"
#include "proc/read.h"
#include "sampler/heap_reader_priv.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"

/* The mean of sampling is adapted so often. */
#define ADAPT_NS (100 * NS_PER_MS)
/* Rings of ended processes are looked at again so often, for children that are not known yet. */
#define ALL_NS (100 * NS_PER_MS)
/* The collector handles messages again after reading so much of a ring. */
#define STEP_BYTES ((uint64_t)256 << 10)
/* After a round with more bytes than this, the next round comes soon. */
#define SOME_BYTES ((uint64_t)4 << 10)
/* A round waits so long at most for incomplete records. */
#define WAIT_NS (2 * NS_PER_SEC)
/* The least time between two questions to the sampler about threads. */
#define ASK_NS NS_PER_MS
/* The limit of gone children in one recording, as records may name any process. */
#define CHILDREN_MAX (1 << 17)
/* A round stops asking after so many questions for processes that are not recorded. */
#define IN_VAIN_MAX 1024
#define BATCH	    128

/* A ring in the current round. */
struct reading {
	struct prober_ring of;
	uint64_t until; /* the position up to which it is read */
	bool is_done;
};

/* The writer of records. */
struct writer {
	pid_t pid;
	pid_t tid; /* the last thread of it that is known, or was asked for in vain; 0: none */
	uint32_t process; /* serial; SERIAL_NONE: the process is no longer recorded */
	/*
	 * A child that is not recorded, or that does not know its own id, as it was not made by
	 * fork() of the C library: its records then have the id 0, or that of the thread which made
	 * it.
	 */
	bool is_stranger;
};

struct heap_reader {
	struct sampler *sampler; /* borrowed */
	struct reading *rings;	 /* owned */
	size_t nr;
	uint64_t wait_end_ns, nr_bytes; /* of the round */
	uint64_t adapt_again_ns;
	bool reads_all;			   /* in this round also rings that seem to be over, */
	uint64_t all_again_ns;		   /* and again then */
	pid_t asked_process, asked_thread; /* the last ones asked for; 0: none */
	unsigned int nr_in_vain;	   /* questions for processes in the round */
	uint64_t ask_again_ns;
	bool has_asked; /* the answer is in the queue of messages */
	struct snapshot snapshot;
	size_t nr_batch;
	struct block_record batch[BATCH];
};

struct heap_reader *heap_reader_new(struct sampler *sampler)
{
	struct heap_reader *reader = xcalloc(1, sizeof(*reader));

	reader->sampler = sampler;
	return reader;
}

void heap_reader_free(struct heap_reader *reader)
{
	if (!reader)
		return;
	snapshot_release(&reader->snapshot);
	free(reader->rings);
	free(reader);
}

/* --- what the sampler knows --- */

#define TRY_AGAIN_NS (50 * NS_PER_US)

/* Take the lock, unless its holder has lent it to this thread. Returns the argument for leave(). */
static bool enter(struct sampler *sampler)
{
	const struct timespec pause = {.tv_nsec = (long)TRY_AGAIN_NS};

	while (pthread_mutex_trylock(&sampler->lock) != 0) {
		/* The holder of the lock waits for this thread: see heap_run(). */
		if (atomic_load(&sampler->session->heap.is_lent))
			return false;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	return true;
}

static void leave(struct sampler *sampler, bool has_lock)
{
	if (has_lock)
		pthread_mutex_unlock(&sampler->lock);
}

void heap_run(struct sampler *sampler, void (*run)(void *context, struct consumer *consumer),
	      void *context)
{
	collector_run(sampler->collector, run, context, &sampler->session->heap.is_lent);
}

/*
 * Add a forked child that has ended since the last poll of the roster. It wrote into the memory of
 * its parent, about addresses at which the parent may have blocks of its own.
 */
static bool add_child(struct sampler *sampler, const struct prober_ring *of,
		      const struct heap_record *record)
{
	struct message *message;
	uint32_t *sum = &sampler->session->heap.nr_children, *own = &of->ring->nr_children;

	if (!part_has_room(*sum, *own, *own + 1, CHILDREN_MAX))
		return false;
	(*sum)++;
	(*own)++;
	message = message_new(MESSAGE_PROCESS, record->time_ns);
	message->body.process.serial = sampler->next_process++;
	message->body.process.parent = of->serial;
	message->body.process.forked = message->body.process.is_gone = true;
	message->body.process.pid = record->pid;
	collector_publish(sampler->collector, message);
	return true;
}

static bool is_known(const struct sampler *sampler, pid_t id)
{
	return roster_find_process(sampler->roster, id) || roster_find_thread(sampler->roster, id);
}

/*
 * Ask the sampler for a process. False: it was asked before, and there is no such process; or too
 * much was asked in vain.
 */
static bool ask_for_process(struct heap_reader *reader, const struct prober_ring *of,
			    const struct heap_record *record)
{
	struct sampler *sampler = reader->sampler;
	bool is_new = reader->asked_process != record->pid, has_lock;

	/* A record may name any process, and so may each. */
	if (reader->nr_in_vain == IN_VAIN_MAX)
		return false;
	has_lock = enter(sampler);
	reader->asked_process = record->pid;
	if (is_new && !is_known(sampler, record->pid))
		roster_look_for(sampler->roster, record->pid);
	if (!is_known(sampler, record->pid) && proc_task_has_ended(record->pid, record->pid))
		is_new = add_child(sampler, of, record);
	leave(sampler, has_lock);
	reader->has_asked |= is_new;
	reader->nr_in_vain += !is_new;
	return is_new;
}

/* Ask the sampler for a thread. False: it was asked before, or just now for another one. */
static bool ask_for_thread(struct heap_reader *reader, pid_t tid, uint64_t now_ns)
{
	struct sampler *sampler = reader->sampler;
	bool has_lock;

	if (reader->asked_thread == tid || now_ns < reader->ask_again_ns)
		return false;
	reader->asked_thread = tid;
	reader->ask_again_ns = now_ns + ASK_NS;
	reader->has_asked = true;
	has_lock = enter(sampler);
	if (!roster_find_thread(sampler->roster, tid))
		roster_look_for(sampler->roster, tid);
	leave(sampler, has_lock);
	return true;
}

/* --- writers --- */

/* Is the process in a PID namespace? Then it writes other ids than profc knows. */
static bool is_in_namespace(const struct prober_ring *of)
{
	return of->ring->owner_pid != of->pid;
}

static bool is_strange(const struct heap_reader *reader, const struct consumer *consumer,
		       const struct prober_ring *of, pid_t pid)
{
	if (pid == of->pid)
		return false;
	if (pid <= 0 || (!reader->sampler->options.follow_children && !is_in_namespace(of)))
		return true;
	return consumer_pid_of(consumer, consumer_find_process(consumer, pid)) == of->pid;
}

/*
 * Find the writer of a record. Forked children write into the memory of their parent, with their
 * own id. A record that names another process is believed if that process may write there; others
 * are of strangers, as of a child that has another id in a PID namespace of its own. False: try
 * again after messages were handled.
 */
static bool find_writer(struct heap_reader *reader, struct consumer *consumer,
			const struct prober_ring *of, const struct heap_record *record,
			struct writer *writer)
{
	struct sampler *sampler = reader->sampler;
	uint32_t found =
		record->pid == of->pid ? SERIAL_NONE : consumer_find_process(consumer, record->pid);

	*writer = (struct writer){.pid = record->pid};
	writer->process = consumer_pid_of(consumer, of->serial) ? of->serial : SERIAL_NONE;
	writer->is_stranger = is_strange(reader, consumer, of, record->pid);
	if (found != SERIAL_NONE) {
		if (reader->asked_process == record->pid)
			reader->asked_process = 0;
		if (consumer_parent_of_late(consumer, found) == of->serial ||
		    prober_is_writer(sampler->options.prober, of->serial, found))
			writer->process = found;
		else
			writer->is_stranger = true;
		return true;
	}
	if (writer->process == SERIAL_NONE || record->pid == of->pid || writer->is_stranger ||
	    is_in_namespace(of))
		return true;
	writer->is_stranger = true;
	return !ask_for_process(reader, of, record);
}

/* Does the collector know the thread? False: try again after messages were handled. */
static bool knows_thread(struct heap_reader *reader, const struct consumer *consumer,
			 const struct prober_ring *of, pid_t tid, uint64_t now_ns,
			 struct writer *writer)
{
	if (tid == writer->tid || writer->process == SERIAL_NONE || is_in_namespace(of))
		return true;
	if (!consumer_has_thread(consumer, writer->process, tid) &&
	    ask_for_thread(reader, tid, now_ns))
		return false;
	writer->tid = tid;
	return true;
}

/* --- records --- */

/* Was the record of this time written while counting was on? Others are not recorded. */
static bool is_counting(const struct heap_reader *reader, uint64_t time_ns)
{
	const struct heap_session *heap = &reader->sampler->session->heap;

	return time_ns >= heap->from_ns &&
	       time_ns < atomic_load_explicit(&heap->to_ns, memory_order_relaxed);
}

static enum block_event event_of(const struct heap_record *record)
{
	if (record->kind == HEAP_RECORD_ALLOCATION)
		return BLOCK_ALLOCATED;
	if (record->kind == HEAP_RECORD_KEPT)
		return BLOCK_KEPT;
	return heap_record_is_move(record) ? BLOCK_MOVED : BLOCK_FREED;
}

static void hand_over(struct heap_reader *reader, struct consumer *consumer)
{
	consumer_add_blocks(consumer, reader->batch, reader->nr_batch);
	reader->nr_batch = 0;
}

/*
 * Add the stack of a record, and hand all over: the ring keeps the stack only until the next record
 * is read.
 */
static void add_stack(struct heap_reader *reader, struct consumer *consumer,
		      const struct heap_record *record, struct block_record *block)
{
	block->has_stack = true;
	if (!record->nr_stack_bytes) {
		/* The ring had no room for the stack. */
		atomic_fetch_add_explicit(&reader->sampler->session->heap.nr_lost_stacks, 1,
					  memory_order_relaxed);
		return;
	}
	heap_record_fill_snapshot(record, &reader->snapshot);
	reader->snapshot.tgid = consumer_pid_of(consumer, block->process);
	block->snapshot = &reader->snapshot;
	block->script_state = heap_record_script_state(record);
	hand_over(reader, consumer);
}

/* A process writes any number as the id of a thread. */
static pid_t id_of_thread(const struct prober_ring *of, const struct heap_record *record)
{
	if (record->tid <= 0)
		return 0;
	return is_in_namespace(of) ? -record->tid : record->tid;
}

static void add_record(struct heap_reader *reader, struct consumer *consumer,
		       const struct prober_ring *of, const struct writer *writer,
		       const struct heap_record *record, bool is_recorded)
{
	bool is_new = record->kind == HEAP_RECORD_ALLOCATION;
	struct block_record *block;

	if (reader->nr_batch == BATCH)
		hand_over(reader, consumer);
	block = &reader->batch[reader->nr_batch++];
	*block = (struct block_record){.time_ns = record->time_ns,
				       .address = is_recorded ? record->pointer : 0,
				       .size_bytes = record->size,
				       .process = writer->process,
				       .signer = of->serial,
				       .tid = id_of_thread(of, record),
				       .event = (uint8_t)event_of(record),
				       .kind = (uint8_t)heap_allocation_kind(record->function)};
	if (is_new) {
		block->mean_bytes = record->mean;
		block->former = record->old;
		block->signature = record->signature;
		block->replaces = record->replaces;
	}
	if (record->has_stack && (!is_recorded || is_counting(reader, record->time_ns)))
		add_stack(reader, consumer, record, block);
}

/* A block that a realloc() failed to move is not searched for. */
static void note_for_search(const struct heap_reader *reader, uint32_t process,
			    enum heap_record_kind kind, uint64_t pointer, uint64_t size)
{
	struct reach *reach = prober_reach(reader->sampler->options.prober);

	if (!reach)
		return;
	if (kind == HEAP_RECORD_ALLOCATION)
		reach_add(reach, process, pointer, size);
	else if (kind == HEAP_RECORD_FREE)
		reach_remove(reach, process, pointer);
}

/* Blocks allocated while nothing was counted are not recorded; frees always are. */
static void take_record(struct heap_reader *reader, struct consumer *consumer,
			const struct prober_ring *of, const struct writer *writer,
			const struct heap_record *record)
{
	bool is_new = record->kind == HEAP_RECORD_ALLOCATION;
	bool is_recorded =
		!writer->is_stranger && (!is_new || is_counting(reader, record->time_ns));

	if (is_recorded && of->ring->all)
		heap_ring_count(of->ring, record);
	if (writer->process == SERIAL_NONE)
		return;
	if (is_recorded)
		note_for_search(reader, writer->process, record->kind, record->pointer,
				record->size);
	/* A stack with a signature comes once; later records have only the signature. */
	if (is_recorded || (is_new && record->has_stack && record->signature))
		add_record(reader, consumer, of, writer, record, is_recorded);
}

/* As take_record(), for a writer that is recorded. `like` has the facts that all of them share. */
static void take_short(struct heap_reader *reader, struct consumer *consumer,
		       const struct prober_ring *of, const struct heap_short_record *record,
		       const struct block_record *like)
{
	bool is_new = record->kind == HEAP_RECORD_ALLOCATION;
	struct block_record *block;

	if (is_new)
		heap_ring_count_block(of->ring, record->size);
	note_for_search(reader, like->process, record->kind, record->pointer, record->size);
	if (reader->nr_batch == BATCH)
		hand_over(reader, consumer);
	block = &reader->batch[reader->nr_batch++];
	/* One by one: a copy of the whole would wait for the stores of members. */
	block->time_ns = like->time_ns;
	block->address = record->pointer;
	block->size_bytes = record->size;
	block->mean_bytes = block->former = 0;
	block->signature = record->signature;
	block->process = like->process;
	block->signer = like->signer;
	block->tid = like->tid;
	block->event = is_new ? BLOCK_ALLOCATED : BLOCK_FREED;
	block->kind = (uint8_t)heap_allocation_kind(record->function);
	block->replaces = block->has_stack = false;
	block->snapshot = NULL;
	block->script_state = 0;
}

#define SHORT_MOST 64

/* The short records that follow `record`, with its writer and its time. */
static void take_all_short(struct heap_reader *reader, struct consumer *consumer,
			   const struct prober_ring *of, const struct writer *writer,
			   const struct heap_record *record, uint64_t until)
{
	struct heap_short_record found[SHORT_MOST];
	const struct block_record like = {.time_ns = record->time_ns,
					  .process = writer->process,
					  .signer = of->serial,
					  .tid = id_of_thread(of, record)};
	bool is_counted = is_counting(reader, record->time_ns);
	size_t nr;

	if (writer->is_stranger || writer->process == SERIAL_NONE)
		return;
	do {
		nr = heap_ring_next_short(of->ring, until, found, SHORT_MOST);
		for (size_t i = 0; i < nr; i++) {
			if (is_counted || found[i].kind != HEAP_RECORD_ALLOCATION)
				take_short(reader, consumer, of, &found[i], &like);
		}
	} while (nr == SHORT_MOST);
}

/* --- rings --- */

static enum blocks_read read_records(struct heap_reader *reader, struct consumer *consumer,
				     struct reading *reading)
{
	struct heap_ring *ring = reading->of.ring;
	uint64_t end = ring->next + STEP_BYTES;
	uint64_t now_ns = clock_monotonic_ns();
	struct writer writer = {.process = SERIAL_NONE};
	struct heap_record record;
	bool has_writer = false;

	while ((int64_t)(reading->until - ring->next) > 0) {
		if ((int64_t)(end - ring->next) <= 0)
			return BLOCKS_MORE;
		if (!heap_ring_next(ring, now_ns, &record)) {
			if (ring->waiting_since_ns && now_ns < reader->wait_end_ns)
				return BLOCKS_WAIT;
			break;
		}
		if (!has_writer || record.pid != writer.pid)
			has_writer = find_writer(reader, consumer, &reading->of, &record, &writer);
		if (!has_writer ||
		    !knows_thread(reader, consumer, &reading->of, record.tid, now_ns, &writer)) {
			heap_ring_put_back(ring);
			return BLOCKS_MORE;
		}
		ring->has_strangers |= writer.is_stranger;
		take_record(reader, consumer, &reading->of, &writer, &record);
		take_all_short(reader, consumer, &reading->of, &writer, &record,
			       (int64_t)(reading->until - end) > 0 ? end : reading->until);
	}
	reading->is_done = true;
	/* Its writers had ended before this round began. */
	ring->answers.are_over = reading->of.is_over && ring->next == reading->until;
	return BLOCKS_NONE;
}

/* NULL: the ring is not in the current round. */
static const struct reading *find_reading(const struct reading *rings, size_t nr,
					  const struct heap_ring *ring)
{
	for (size_t i = 0; i < nr; i++) {
		if (rings[i].of.ring == ring)
			return &rings[i];
	}
	return NULL;
}

static struct reading begin_ring(const struct prober_ring *of, const struct consumer *consumer)
{
	return (struct reading){.of = *of,
				.until = heap_ring_visit(of->ring),
				/* Its process is not known yet: wait for a later round. */
				.is_done = !consumer_has_begun(consumer, of->serial)};
}

/*
 * List the rings, which come and go between two readings. New ones wait for the next round. Those
 * of processes that have ended are many in a build.
 */
static void list_rings(struct heap_reader *reader, const struct consumer *consumer, bool begins)
{
	struct prober *prober = reader->sampler->options.prober;
	struct reading *former = reader->rings, *rings;
	struct prober_ring *found = NULL;
	size_t nr = 0, cap;

	do {
		cap = nr;
		found = xrealloc_array(found, cap + 1, sizeof(*found));
		nr = prober_rings(prober, found, cap, reader->reads_all);
	} while (nr > cap);
	rings = xcalloc(nr + 1, sizeof(*rings));
	for (size_t i = 0; i < nr; i++) {
		const struct reading *known =
			find_reading(former, begins ? 0 : reader->nr, found[i].ring);

		rings[i] = (struct reading){.of = found[i], .is_done = true};
		if (begins)
			rings[i] = begin_ring(&found[i], consumer);
		else if (known)
			rings[i] = *known;
	}
	free(found);
	free(former);
	reader->rings = rings;
	reader->nr = nr;
}

static void begin_round(struct heap_reader *reader)
{
	const uint64_t now_ns = clock_monotonic_ns();

	reader->wait_end_ns = now_ns + WAIT_NS;
	reader->nr_bytes = 0;
	reader->nr_in_vain = 0;
	reader->reads_all = now_ns >= reader->all_again_ns;
	if (reader->reads_all)
		reader->all_again_ns = now_ns + ALL_NS;
}

static void end_round(struct heap_reader *reader, const struct consumer *consumer)
{
	struct prober *prober = reader->sampler->options.prober;
	uint64_t now_ns = clock_monotonic_ns();

	prober_answer_heaps(prober, now_ns);
	if (now_ns < reader->adapt_again_ns)
		return;
	reader->adapt_again_ns = now_ns + ADAPT_NS;
	prober_adapt_heap(prober, consumer_block_stack_bytes(consumer));
}

static enum blocks_read read_rings(struct heap_reader *reader, struct consumer *consumer)
{
	enum blocks_read outcome = BLOCKS_NONE;

	for (size_t i = 0; i < reader->nr; i++) {
		struct reading *reading = &reader->rings[i];
		uint64_t from = reading->of.ring->next;
		enum blocks_read one;

		if (reading->is_done)
			continue;
		one = read_records(reader, consumer, reading);
		hand_over(reader, consumer);
		reader->nr_bytes += reading->of.ring->next - from;
		outcome = one > outcome ? one : outcome;
	}
	return outcome;
}

enum blocks_read heap_read(void *context, struct consumer *consumer, bool begins)
{
	struct sampler *sampler = context;
	struct heap_reader *reader = sampler->session->heap.reader;
	enum blocks_read outcome;

	if (begins)
		begin_round(reader);
	list_rings(reader, consumer, begins);
	outcome = read_rings(reader, consumer);
	if (outcome != BLOCKS_NONE)
		return outcome;
	end_round(reader, consumer);
	return reader->nr_bytes > SOME_BYTES ? BLOCKS_SOME : BLOCKS_NONE;
}

void heap_read_at_once(struct sampler *sampler, struct consumer *consumer)
{
	struct heap_reader *reader = sampler->session->heap.reader;

	reader->has_asked = false;
	begin_round(reader);
	reader->reads_all = true;
	list_rings(reader, consumer, true);
	while (read_rings(reader, consumer) == BLOCKS_MORE && !reader->has_asked)
		continue;
}

/* --- requests of the user --- */

/* A request to make rows of all allocations up to now, with their exact totals. */
struct telling {
	struct sampler *sampler;
	bool discards;
	struct collector_cut *cut; /* NULL: none */
};

static void tell_memory(void *context, struct consumer *consumer)
{
	const struct telling *telling = context;
	struct sampler *sampler = telling->sampler;
	uint64_t now_ns = clock_monotonic_ns();

	prober_add_moments(sampler->options.prober, consumer_make_rows(consumer), now_ns,
			   telling->discards, sampler->session->start_ns);
	if (telling->discards)
		sampler->session->heap.from_ns = now_ns;
	if (telling->cut)
		collector_cut(sampler->collector, telling->cut);
}

void sampler_discard_memory(struct sampler *sampler)
{
	struct telling telling = {.sampler = sampler, .discards = true};

	pthread_mutex_lock(&sampler->lock);
	heap_run(sampler, tell_memory, &telling);
	pthread_mutex_unlock(&sampler->lock);
}

void sampler_cut(struct sampler *sampler, struct collector_cut *cut)
{
	struct telling telling = {.sampler = sampler, .cut = cut};

	if (!sampler->session->heap.reader) {
		collector_cut(sampler->collector, cut);
		return;
	}
	pthread_mutex_lock(&sampler->lock);
	heap_run(sampler, tell_memory, &telling);
	pthread_mutex_unlock(&sampler->lock);
}
