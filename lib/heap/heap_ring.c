// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes records out of the ring. */
#include "heap/heap_ring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/minmax.h"

#define NO_THREAD UINT32_MAX
/* A thread takes less than this to copy some kilobytes. */
#define PATIENCE_NS NS_PER_SEC

bool heap_ring_has_cycles(void)
{
	return machine_has_clock();
}

struct heap_moment heap_moment_now(void)
{
	struct heap_moment best = {0};
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		uint64_t before = machine_clock();
		uint64_t ns = clock_monotonic_ns();
		uint64_t after = machine_clock();

		if (after - before < shortest) {
			shortest = after - before;
			best = (struct heap_moment){before + shortest / 2, ns};
		}
	}
	return best;
}

/* Two moments this far apart show how fast the processor's clock runs. */
#define MOMENTS_NS (100 * NS_PER_MS)

static void look_at_clocks(struct heap_ring *ring)
{
	struct heap_moment now = heap_moment_now();

	if (now.ns - ring->latter.ns >= MOMENTS_NS)
		ring->former = ring->latter;
	ring->latter = now;
}

/* No recording is longer. */
#define FAR_NS 0x1p62

/* 0: impossible, as it is too far away. */
static uint64_t time_ns_of(const struct heap_ring *ring, uint64_t time)
{
	const struct heap_moment *former = &ring->former, *latter = &ring->latter;
	double ns_per_cycle, distance_ns;

	if (!ring->has_cycles)
		return time;
	if (latter->cycles <= former->cycles)
		return latter->ns;
	ns_per_cycle =
		(double)(latter->ns - former->ns) / (double)(latter->cycles - former->cycles);
	distance_ns = (double)(int64_t)(time - latter->cycles) * ns_per_cycle;
	if (distance_ns > FAR_NS || distance_ns < -FAR_NS)
		return 0;
	return latter->ns + (uint64_t)(int64_t)distance_ns;
}

/* Clocks of processors differ by less. */
#define CLOCKS_APART_NS NS_PER_SEC

static bool is_of_our_time(const struct heap_ring *ring, uint64_t ns)
{
	return ns < INT64_MAX && ns + CLOCKS_APART_NS >= ring->begun_ns &&
	       ns <= ring->latter.ns + CLOCKS_APART_NS;
}

/* False: the time is impossible. */
static bool note_time(struct heap_ring *ring, uint64_t time)
{
	uint64_t ns;

	if (ring->has_cycles && (int64_t)(time - ring->latter.cycles) > 0)
		look_at_clocks(ring);
	ns = time_ns_of(ring, time);
	if (!is_of_our_time(ring, ns)) {
		/* While a machine sleeps the clock of its processor may restart. */
		ring->former = ring->latter = heap_moment_now();
		if (ring->has_cycles || !is_of_our_time(ring, ns))
			return false;
	}
	ring->time_ns = ring->has_cycles ? min_u64(ns, ring->latter.ns) : ns;
	return true;
}

void heap_ring_init(struct heap_ring *ring, struct heap_shared *shared,
		    const struct heap_rules *rules)
{
	*ring = (struct heap_ring){.shared = shared,
				   .private_address = rules->private_address,
				   .bytes = shared->ring,
				   .nr_bytes = HEAP_RING_BYTES,
				   .thread = NO_THREAD,
				   .owner_pid = rules->owner_pid,
				   .has_cycles = rules->has_cycles != 0};
	if (rules->is_all) {
		ring->all = (struct heap_all *)(void *)shared - 1;
		ring->bytes = ring->all->ring;
		ring->nr_bytes = HEAP_ALL_RING_BYTES;
	}
	ring->former = heap_moment_now();
	ring->latter = ring->former;
	ring->time_ns = ring->begun_ns = ring->latter.ns;
	/* The process may have written to it by now. */
	ring->tail = ring->next =
		__atomic_load_n(&shared->tail, __ATOMIC_RELAXED) & -(uint64_t)HEAP_RECORD_ALIGNMENT;
	ring->head = ring->released = ring->tail;
}

static const uint64_t *record_at(const struct heap_ring *ring, uint64_t position)
{
	return (const uint64_t *)(const void *)&ring->bytes[position & (ring->nr_bytes - 1)];
}

/* Read once, as the target may change it at any moment. */
static struct heap_header header_at(const struct heap_ring *ring, uint64_t position)
{
	uint64_t word = __atomic_load_n(record_at(ring, position), __ATOMIC_ACQUIRE);
	struct heap_header header;

	memcpy(&header, &word, sizeof(header));
	return header;
}

static bool is_committed(const struct heap_header *header, uint64_t position)
{
	return header->commit == heap_commit_word(position);
}

/*
 * Each change of head or tail moves its cache line between two processors, and each side waits for
 * that. So the reader loads the head, and stores the tail, only now and then.
 */
#define RELEASE_BYTES	  (HEAP_RING_BYTES / 64)
#define FAR_RELEASE_BYTES (HEAP_ALL_PART_BYTES / 16)

/* Is it beyond the first part, where records are while the reader keeps up? */
static bool is_far(const struct heap_ring *ring, uint64_t position)
{
	return ring->all && (position & (ring->nr_bytes - 1)) >= HEAP_ALL_PART_BYTES;
}

/*
 * Give the memory of what was read back to the system, before it is released: whole pages, as a
 * writer may already be in the page where the last release ended.
 */
static void give_back(const struct heap_ring *ring)
{
	uint64_t first = ring->released & (ring->nr_bytes - 1);
	uint64_t last = min_u64(first + (ring->tail - ring->released), ring->nr_bytes);
	/* The ring begins amid a page, where pages are larger than 4 KiB. */
	uint64_t start = page_align((uintptr_t)ring->bytes + first);
	uint64_t end = page_start((uintptr_t)ring->bytes + last);

	/* If it fails the ring only stays larger. */
	if (end > start)
		madvise((void *)(uintptr_t)start, end - start, MADV_REMOVE);
}

static void release(struct heap_ring *ring)
{
	if (is_far(ring, ring->released))
		give_back(ring);
	ring->released = ring->tail;
	__atomic_store_n(&ring->shared->tail, ring->tail, __ATOMIC_RELEASE);
}

static void go_on(struct heap_ring *ring, uint64_t position)
{
	uint64_t nr_bytes = is_far(ring, ring->released) ? FAR_RELEASE_BYTES : RELEASE_BYTES;

	ring->tail = ring->next = position;
	if (position - ring->released >= nr_bytes)
		release(ring);
}

static uint64_t left_to_end(const struct heap_ring *ring)
{
	return ring->nr_bytes - (ring->tail & (ring->nr_bytes - 1));
}

/* No address space is larger. */
#define SIZE_MAX_BYTES (UINT64_C(1) << 56)

static bool can_be_block(uint64_t pointer, uint64_t size)
{
	return pointer && size <= SIZE_MAX_BYTES && pointer <= UINT64_MAX - size;
}

/* Can the blob have written this? The users of a record need not check it again. */
static bool can_be(const struct heap_ring *ring, const struct heap_record *record)
{
	bool is_new = record->kind == HEAP_RECORD_ALLOCATION;
	bool is_map = record->function >= HEAP_MAP;

	if (record->kind == HEAP_RECORD_FREE)
		return true;
	if (!record->pointer)
		return false;
	if (is_new && !can_be_block(record->pointer, record->size))
		return false;
	if (!is_new || ring->all)
		return true;
	return is_map ? !record->mean : record->mean && record->mean <= HEAP_MEAN_MAX;
}

/*
 * The record at the tail will not be completed, or is impossible: continue with the next complete
 * record, or after all that is reserved.
 */
static void skip(struct heap_ring *ring)
{
	uint64_t position = ring->tail + HEAP_RECORD_ALIGNMENT;
	struct heap_header header;

	for (; position < ring->head; position += HEAP_RECORD_ALIGNMENT) {
		header = header_at(ring, position);
		if (is_committed(&header, position))
			break;
	}
	ring->waiting_since_ns = 0;
	go_on(ring, position < ring->head ? position : ring->head);
}

static bool has_room_for(const struct heap_ring *ring, uint64_t nr_bytes)
{
	return nr_bytes <= left_to_end(ring) && nr_bytes <= ring->head - ring->tail;
}

/* A record that is being read. */
struct reading {
	struct heap_header header;
	uint64_t time, nr_bytes;
};

/* Member by member: there are many registers, and most records have none. */
static void begin_record(const struct heap_header *header, struct heap_record *record)
{
	record->kind = (enum heap_record_kind)(header->kind & HEAP_KIND_MASK);
	record->function = (enum heap_function)header->function;
	record->replaces = header->kind & HEAP_HAS_OLD;
	record->has_stack = header->kind & HEAP_HAS_CALLER;
	record->mean = 0;
	record->nr_stack_bytes = 0;
	record->stack = NULL;
	record->nr_script_bytes = 0;
	record->script = NULL;
}

static struct heap_name name_in(uint64_t word)
{
	struct heap_name name;

	memcpy(&name, &word, sizeof(name));
	return name;
}

/* Returns the words after them, which are the caller's if there is one. */
static const uint64_t *read_words(const struct heap_ring *ring, struct reading *reading,
				  struct heap_record *record)
{
	const uint64_t *word = record_at(ring, ring->tail);
	uint32_t kind = reading->header.kind;
	struct heap_name name = {0};

	record->pointer = word[1];
	word += 2;
	record->size = kind & HEAP_HAS_SIZE ? *word++ : 0;
	record->signature = kind & HEAP_HAS_SIGNATURE ? *word++ : 0;
	record->old = kind & HEAP_HAS_OLD ? *word++ : 0;
	reading->time = kind & HEAP_HAS_TIME ? *word++ : 0;
	if (kind & HEAP_HAS_NAME)
		name = name_in(*word++);
	else if (ring->all)
		name = ring->all->names[reading->header.thread];
	record->pid = name.pid;
	record->tid = name.tid;
	return word;
}

/* False: it has more than is ever copied. */
static bool read_caller(const struct heap_ring *ring, const uint64_t *words,
			struct heap_record *record)
{
	static const uint8_t kept[HEAP_KEPT] = HEAP_KEPT_COLUMNS;
	const struct arch_regs *columns = arch_regs(arch_native());
	struct regs *regs = &record->regs;
	struct heap_caller caller;

	memcpy(&caller, words, sizeof(caller));
	if (caller.nr_stack_bytes > HEAP_STACK_MAX || caller.nr_script_bytes > HEAP_SCRIPT_MAX)
		return false;
	record->mean = ring->all ? 0 : caller.mean;
	record->stack_address = caller.sp;
	record->nr_stack_bytes = caller.nr_stack_bytes;
	record->nr_script_bytes = caller.nr_script_bytes;
	record->script = (const uint8_t *)words + sizeof(caller);
	record->stack = record->script + caller.nr_script_bytes;
	record->regs = (struct regs){0};
	regs_set(regs, columns->pc, caller.pc);
	regs_set(regs, columns->sp, caller.sp);
	regs_set(regs, columns->fp, caller.fp);
	for (int i = 0; i < HEAP_KEPT; i++)
		regs_set(regs, kept[i], caller.kept[i]);
	return true;
}

/* Copies the record. False: the blob cannot have written it. */
static bool copy(const struct heap_ring *ring, struct reading *reading, struct heap_record *record)
{
	const struct heap_header *header = &reading->header;
	const uint64_t *end;

	__builtin_prefetch(record_at(ring, ring->tail + 512));
	reading->nr_bytes = heap_record_bytes(header->kind, 0);
	if (header->function >= HEAP_FUNCTION_COUNT || !has_room_for(ring, reading->nr_bytes))
		return false;
	begin_record(header, record);
	end = read_words(ring, reading, record);
	if (record->kind == HEAP_RECORD_SKIP) {
		reading->nr_bytes = record->pointer;
		return header->kind == HEAP_RECORD_SKIP && reading->nr_bytes == left_to_end(ring) &&
		       has_room_for(ring, reading->nr_bytes);
	}
	if (record->has_stack) {
		if (!read_caller(ring, end, record))
			return false;
		reading->nr_bytes = heap_record_bytes(
			header->kind, record->nr_stack_bytes + record->nr_script_bytes);
	}
	return has_room_for(ring, reading->nr_bytes) && can_be(ring, record);
}

/* False: the time is impossible. */
static bool has_time(struct heap_ring *ring, const struct reading *reading)
{
	return !reading->time || note_time(ring, reading->time);
}

static bool has_more(struct heap_ring *ring)
{
	if (ring->head != ring->tail)
		return true;
	ring->head = __atomic_load_n(&ring->shared->head, __ATOMIC_ACQUIRE);
	if (ring->head - ring->tail > ring->nr_bytes || ring->head % HEAP_RECORD_ALIGNMENT) {
		/* The blob has not written this. */
		ring->nr_refused++;
		go_on(ring, ring->head & -(uint64_t)HEAP_RECORD_ALIGNMENT);
		ring->head = ring->tail;
	}
	return ring->head != ring->tail;
}

#define SHORT_BLOCK (HEAP_RECORD_ALLOCATION | HEAP_HAS_SIZE | HEAP_HAS_SIGNATURE)
#define SHORT_FREE  HEAP_RECORD_FREE

static bool is_short(const struct heap_header *header)
{
	return (header->kind == SHORT_FREE || header->kind == SHORT_BLOCK) &&
	       header->function < HEAP_MAP;
}

/* The record with this header, which is committed. Returns its size; 0: it is impossible. */
static uint64_t read_short(const struct heap_ring *ring, uint64_t position,
			   const struct heap_header *header, struct heap_short_record *record)
{
	const uint64_t *words = record_at(ring, position);
	bool is_new = header->kind == SHORT_BLOCK;

	*record = (struct heap_short_record){.pointer = words[1],
					     .kind = header->kind & HEAP_KIND_MASK,
					     .function = header->function};
	if (!is_new)
		return heap_record_bytes(SHORT_FREE, 0);
	record->size = words[2];
	record->signature = words[3];
	return can_be_block(record->pointer, record->size) ? heap_record_bytes(SHORT_BLOCK, 0) : 0;
}

size_t heap_ring_next_short(struct heap_ring *ring, uint64_t until,
			    struct heap_short_record *records, size_t nr)
{
	const uint64_t most_bytes = heap_record_bytes(SHORT_BLOCK, 0);
	uint64_t position = ring->next;
	size_t nr_read = 0;

	if (!ring->all || (int64_t)(until - position) <= 0)
		return 0;
	/* The rest of the ring, or of the reserved memory, may be too short for a block. */
	until = position + min_u64(until - position, ring->head - position);
	until = position +
		min_u64(until - position, ring->nr_bytes - (position & (ring->nr_bytes - 1)));
	while (nr_read < nr && until - position >= most_bytes) {
		struct heap_header header = header_at(ring, position);
		uint64_t nr_bytes;

		__builtin_prefetch(record_at(ring, position + 512));
		if (!is_committed(&header, position) || header.thread != ring->thread ||
		    !is_short(&header))
			break;
		nr_bytes = read_short(ring, position, &header, &records[nr_read]);
		if (!nr_bytes)
			break;
		position += nr_bytes;
		nr_read++;
	}
	if (nr_read) {
		ring->waiting_since_ns = 0;
		go_on(ring, position);
	}
	return nr_read;
}

bool heap_ring_next(struct heap_ring *ring, uint64_t now_ns, struct heap_record *record)
{
	uint64_t begun_at;

	go_on(ring, ring->next);
	begun_at = ring->tail;
	while (ring->tail - begun_at < ring->nr_bytes && has_more(ring)) {
		struct reading reading = {.header = header_at(ring, ring->tail)};

		if (!is_committed(&reading.header, ring->tail)) {
			if (!ring->waiting_since_ns)
				ring->waiting_since_ns = now_ns;
			if (now_ns - ring->waiting_since_ns < PATIENCE_NS)
				break;
			ring->nr_lost++;
			skip(ring);
			continue;
		}
		ring->waiting_since_ns = 0;
		if (!copy(ring, &reading, record) || !has_time(ring, &reading)) {
			ring->nr_refused++;
			skip(ring);
			continue;
		}
		if (record->kind == HEAP_RECORD_SKIP) {
			go_on(ring, ring->tail + reading.nr_bytes);
			continue;
		}
		record->time_ns = ring->time_ns;
		ring->thread =
			reading.header.kind & HEAP_HAS_NAME ? NO_THREAD : reading.header.thread;
		ring->next = ring->tail + reading.nr_bytes;
		return true;
	}
	release(ring);
	return false;
}

void heap_ring_count_block(struct heap_ring *ring, uint64_t size)
{
	ring->counted.bytes += size;
	ring->counted.blocks++;
}

void heap_ring_count(struct heap_ring *ring, const struct heap_record *record)
{
	if (record->kind == HEAP_RECORD_ALLOCATION && record->function < HEAP_MAP)
		heap_ring_count_block(ring, record->size);
}

uint64_t heap_ring_visit(struct heap_ring *ring)
{
	uint64_t head;

	if (!ring->has_cycles)
		__atomic_store_n(&ring->shared->visits.now_ns, clock_monotonic_ns(),
				 __ATOMIC_RELAXED);
	__atomic_store_n(&ring->shared->visits.nr, ++ring->nr_visits, __ATOMIC_RELAXED);
	head = __atomic_load_n(&ring->shared->head, __ATOMIC_RELAXED);
	/* The head may be wrong, but the ring holds no more. */
	return ring->next + min_u64(head - ring->next, ring->nr_bytes);
}

void heap_ring_put_back(struct heap_ring *ring)
{
	ring->next = ring->tail;
}

void heap_ring_end(struct heap_ring *ring)
{
	__atomic_store_n(&ring->shared->is_over, 1, __ATOMIC_RELAXED);
}

void heap_ring_add_step(struct heap_ring *ring, const struct heap_step *step)
{
	uint64_t first = heap_hash(step->pc) >> 32;

	for (uint64_t i = 0; ring->all && i < HEAP_PROBES; i++) {
		struct heap_step *place = &ring->all->steps[(first + i) % HEAP_STEPS];

		if (place->pc == step->pc)
			return;
		if (place->pc)
			continue;
		place->cfa_offset = step->cfa_offset;
		place->fp_offset = step->fp_offset;
		place->flags = step->flags;
		__atomic_store_n(&place->pc, step->pc, __ATOMIC_RELEASE);
		return;
	}
}

static int by_start(const void *left, const void *right)
{
	const struct heap_stack *a = left;
	const struct heap_stack *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

/* Joins ranges that are not further apart than this. */
static size_t join(struct heap_stack *code, size_t nr, uint64_t gap_bytes)
{
	size_t nr_left = 1;

	for (size_t i = 1; i < nr; i++) {
		struct heap_stack *last = &code[nr_left - 1];

		if (code[i].start > last->end && code[i].start - last->end > gap_bytes)
			code[nr_left++] = code[i];
		else if (code[i].end > last->end)
			last->end = code[i].end;
	}
	return nr_left;
}

void heap_ring_set_code(struct heap_ring *ring, struct heap_stack *code, size_t nr)
{
	struct heap_all *all = ring->all;

	if (!all)
		return;
	__atomic_store_n(&all->nr_code, 0, __ATOMIC_RELEASE);
	if (!nr)
		return;
	qsort(code, nr, sizeof(*code), by_start);
	for (uint64_t gap_bytes = 1; nr > HEAP_CODE; gap_bytes *= 2)
		nr = join(code, nr, gap_bytes);
	memcpy(all->code, code, nr * sizeof(*code));
	__atomic_store_n(&all->nr_code, (uint32_t)nr, __ATOMIC_RELEASE);
}

static void add_slot(struct heap_totals *totals, const struct heap_slot *slot)
{
	int64_t countdown = __atomic_load_n(&slot->countdown, __ATOMIC_RELAXED);

	totals->allocated_bytes += __atomic_load_n(&slot->given_bytes, __ATOMIC_RELAXED) -
				   (uint64_t)heap_countdown_bytes(countdown);
	totals->nr_allocations += __atomic_load_n(&slot->nr_allocations, __ATOMIC_RELAXED) +
				  heap_countdown_allocations(countdown);
}

uint64_t heap_ring_nr_dropped(const struct heap_ring *ring)
{
	return __atomic_load_n(&ring->shared->lost.nr_dropped, __ATOMIC_RELAXED) +
	       __atomic_load_n(&ring->shared->lost.nr_frees, __ATOMIC_RELAXED);
}

void heap_ring_totals(const struct heap_ring *ring, struct heap_totals *totals)
{
	const struct heap_shared *shared = ring->shared;
	uint64_t used_pages, nr_claimed;

	*totals = (struct heap_totals){
		.nr_dropped = __atomic_load_n(&shared->lost.nr_dropped, __ATOMIC_RELAXED),
		.nr_frees = __atomic_load_n(&shared->lost.nr_frees, __ATOMIC_RELAXED),
		.nr_lost = ring->nr_lost + ring->nr_refused,
	};
	if (ring->all) {
		totals->allocated_bytes =
			ring->counted.bytes +
			__atomic_load_n(&shared->lost.dropped_bytes, __ATOMIC_RELAXED);
		totals->nr_allocations =
			ring->counted.blocks +
			__atomic_load_n(&shared->lost.dropped_blocks, __ATOMIC_RELAXED);
		return;
	}
	/* Slots that no thread has used are not read: that would take memory for them. */
	used_pages = __atomic_load_n(&shared->used_pages, __ATOMIC_RELAXED);
	for (size_t i = 0; i < HEAP_SLOTS; i++) {
		if (used_pages >> i / HEAP_SLOTS_OF_PAGE & 1)
			add_slot(totals, &shared->slots[i]);
	}
	nr_claimed = __atomic_load_n(&shared->nr_claimed, __ATOMIC_RELAXED);
	for (size_t i = 0; i < min_u64(nr_claimed, HEAP_OWN_SLOTS); i++)
		add_slot(totals, &shared->own_slots[i].slot);
}
