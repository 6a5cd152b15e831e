// SPDX-License-Identifier: GPL-2.0-or-later
/* The blob writes records into the ring. */
#include "heap/heap_record_blob.h"

/*
 * With --mem=all a program that is faster than the reader waits for it: at most some 100 ms of CPU
 * time while nothing is read, and eight times that for one record. It spins, as sleeping needs a
 * system call. False: the reader is gone, or gets no CPU time.
 */
#define SPINS_NR   (1 << 22)
#define SPINS_MOST (8 * SPINS_NR)

static bool wait_for_reader(int *nr_spins)
{
	uint64_t tail = __atomic_load_n(&shared.tail, __ATOMIC_ACQUIRE);

	if (tail + 1 == relaxed_load(&heap_own()->given_up_at))
		return false;
	for (int i = 0; i < SPINS_NR && *nr_spins < SPINS_MOST && !relaxed_load(&shared.is_over);
	     i++) {
		machine_pause();
		++*nr_spins;
		if (__atomic_load_n(&shared.tail, __ATOMIC_ACQUIRE) != tail)
			return true;
		if (relaxed_load(&heap_own()->given_up_at) == tail + 1)
			return false; /* another thread has given up */
	}
	relaxed_store(&heap_own()->given_up_at, tail + 1);
	return false;
}

/*
 * At the end of a part wait until the reader is near. The memory of a further part is new: the
 * faults of its pages cost this thread and the reader more than the wait. It ends once the reader
 * has not moved for some 100 us, and in any case after some 100 ms, as another process that shares
 * the memory could move the tail for ever.
 */
#define NEAR_SPINS (1 << 13)

static void let_reader_come_near(uint64_t head, uint64_t nr_bytes)
{
	uint64_t tail = __atomic_load_n(&shared.tail, __ATOMIC_ACQUIRE);

	if (!rules.is_all || HEAP_ALL_PART_BYTES - head % HEAP_ALL_PART_BYTES > nr_bytes)
		return;
	for (int nr = 0, nr_still = 0; nr < SPINS_NR && nr_still < NEAR_SPINS; nr++) {
		uint64_t former = tail;

		if ((int64_t)(head - tail) < (int64_t)HEAP_NEAR_BYTES ||
		    relaxed_load(&shared.is_over))
			return;
		machine_pause();
		tail = __atomic_load_n(&shared.tail, __ATOMIC_ACQUIRE);
		nr_still = tail == former ? nr_still + 1 : 0;
	}
}

/*
 * Does the record not fit in front of the end of the ring, or of its current part while the reader
 * is near?
 */
static bool is_at_end(uint64_t head, uint64_t nr_bytes)
{
	uint64_t left = ring_bytes() - (head & (ring_bytes() - 1));
	uint64_t used = head - __atomic_load_n(&shared.tail, __ATOMIC_ACQUIRE);

	return left < nr_bytes || (rules.is_all && used < HEAP_NEAR_BYTES &&
				   HEAP_ALL_PART_BYTES - head % HEAP_ALL_PART_BYTES <= nr_bytes);
}

/* Large blocks have a part of the ring that others do not use. */
uint64_t heap_room_bytes(const struct request *request)
{
	return is_large(request) ? (SPARED_BY_OTHERS - SPARED_BY_LARGE) * SPARE_BYTES
				 : ring_bytes() - SPARED_BY_OTHERS * SPARE_BYTES;
}

uint64_t heap_room_left(const struct request *request)
{
	uint64_t spared = is_large(request) ? SPARED_BY_LARGE : SPARED_BY_OTHERS;
	uint64_t end = ring_bytes() - spared * SPARE_BYTES;
	uint64_t tail = __atomic_load_n(&shared.tail, __ATOMIC_ACQUIRE);
	int64_t used = (int64_t)(relaxed_load(&shared.head) - tail);

	/* The reader may have moved on between the two loads. */
	if (used < 0)
		return end;
	return (uint64_t)used < end ? end - (uint64_t)used : 0;
}

static void skip_to_end(uint64_t head, uint64_t nr_bytes)
{
	uint64_t *skip = record_at(head);

	skip[1] = nr_bytes;
	commit(skip, head, HEAP_RECORD_SKIP, 0, 0);
}

uint64_t *heap_reserve(uint64_t nr_bytes, enum spared_parts spared, uint64_t *position)
{
	int64_t room = (int64_t)(ring_bytes() - (uint64_t)spared * SPARE_BYTES);
	uint64_t head = relaxed_load(&shared.head);
	int nr_spins = 0;

	/* All records are aligned: another head was written by a hostile process. */
	for (int i = 0; i < TRIES_MAX && head % HEAP_RECORD_ALIGNMENT == 0; i++) {
		uint64_t left = ring_bytes() - (head & (ring_bytes() - 1));
		int64_t used;

		let_reader_come_near(head, nr_bytes);
		*position = is_at_end(head, nr_bytes) ? head + left : head;
		/* The head may be old: others may have advanced, so that the tail is beyond it. */
		used = (int64_t)(*position + nr_bytes -
				 __atomic_load_n(&shared.tail, __ATOMIC_ACQUIRE));
		if (used > room) {
			if (!rules.is_all || !wait_for_reader(&nr_spins))
				return 0;
			head = relaxed_load(&shared.head);
			continue;
		}
		if (!exchange(&shared.head, &head, *position + nr_bytes))
			continue;
		if (*position != head)
			skip_to_end(head, left);
		return record_at(*position);
	}
	return 0;
}

uint64_t heap_stack_bytes_from(uint64_t sp)
{
	uint64_t nr = relaxed_load(&shared.stack_bytes);
	uint64_t start;
	uint64_t there = heap_readable_end(sp, &start) - sp;

	if (nr > HEAP_STACK_MAX)
		nr = HEAP_STACK_MAX;
	return there < nr ? there : nr;
}

void heap_write_caller(const struct record *record, uint64_t *to)
{
	const struct heap_frame *frame = record->request->frame;
	struct heap_caller *caller = (struct heap_caller *)to;
	uint64_t nr_script_bytes = record->pieces ? record->pieces->nr_bytes : 0;

	caller->nr_stack_bytes = (uint32_t)record->nr_stack_bytes;
	caller->nr_script_bytes = (uint32_t)nr_script_bytes;
	caller->mean = record->request->mean;
	caller->pc = frame->pc;
	caller->sp = (uint64_t)(frame + 1);
	caller->fp = frame->fp;
	for (int i = 0; i < HEAP_KEPT; i++)
		caller->kept[i] = frame->kept[i];
	to = (uint64_t *)(caller + 1);
	if (nr_script_bytes)
		heap_write_pieces(record->pieces, to);
	machine_copy(to + nr_script_bytes / sizeof(*to), (const void *)caller->sp,
		     record->nr_stack_bytes);
}

/*
 * Without room for its stack a large block or a free is recorded without it; a small block is lost.
 */
static uint64_t *reserve_for(struct record *record, bool is_new, uint64_t *position)
{
	bool is_large_one = is_new && is_large(record->request);
	uint64_t *words = 0;

	if (is_new || record->nr_stack_bytes)
		words = heap_reserve(heap_record_bytes(record->kind, caller_bytes_of(record)),
				     is_large_one ? SPARED_BY_LARGE : SPARED_BY_OTHERS, position);
	if (words || (is_new && !is_large_one))
		return words;
	record->nr_stack_bytes = 0;
	record->pieces = 0;
	return heap_reserve(heap_record_bytes(record->kind, 0),
			    is_new ? SPARED_BY_LARGE_WITHOUT_STACK : SPARED_BY_FREES, position);
}

bool heap_emit(const struct request *request, enum heap_record_kind kind, uint64_t pointer)
{
	bool is_new = kind == HEAP_RECORD_ALLOCATION;
	bool has_caller = is_new || (kind == HEAP_RECORD_FREE && rules.frees_have_stacks);
	struct record record;
	struct heap_pieces pieces;
	uint64_t position;
	uint64_t *words;

	/* Member by member: for less, some compilers call memset(), which is not there. */
	record.request = request;
	record.kind = kind | HEAP_HAS_TIME | HEAP_HAS_NAME | flags_of(request, kind);
	record.pointer = pointer;
	record.signature = record.time = record.nr_stack_bytes = 0;
	record.pieces = 0;
	/*
	 * The times of a block's records lie within its life: that of its birth is late, that of
	 * its free early.
	 */
	if (!is_new)
		record.time = time_now();
	if (has_caller) {
		record.kind |= HEAP_HAS_CALLER;
		record.nr_stack_bytes = heap_stack_bytes_from((uint64_t)(request->frame + 1));
		heap_find_pieces(&pieces, request->frame, request->old);
		record.pieces = &pieces;
	}
	words = reserve_for(&record, is_new, &position);
	if (!words) {
		relaxed_add(kind == HEAP_RECORD_FREE ? &shared.lost.nr_frees
						     : &shared.lost.nr_dropped,
			    1);
		return false;
	}
	if (is_new)
		record.time = time_now();
	write_record(&record, words, position);
	return true;
}
