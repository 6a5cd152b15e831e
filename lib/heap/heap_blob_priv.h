/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the files of the blob, the code of profc in a process. The blob has no data but those
 * of heap_shared.h, calls only the allocator, changes only registers that callers of the C library
 * expect to lose, and uses no vector registers.
 */
#ifndef PROFC_HEAP_HEAP_BLOB_PRIV_H
#define PROFC_HEAP_HEAP_BLOB_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/heap_shared.h"
#include "heap/heap_walk_blob.h"

#pragma GCC visibility push(hidden)

#define PAGE_BYTES UINT64_C(4096)
/*
 * An atomic change of a shared word is tried this often. Threads that follow the rules need far
 * fewer tries; a hostile child may change the word forever.
 */
#define TRIES_MAX 4096
/* As room runs out, the mean grows up to 2^12 times. */
#define HEAP_ROOM_PARTS 12
/* With this many pointers, one in 5,000 finds both of its sets full (by simulation). */
#define HEAP_POINTERS_MAX (HEAP_SETS * HEAP_SET_WAYS / 4 * 3)
/*
 * Nested calls, of an allocator by itself or by a pool, come from at most this much deeper in the
 * stack. The stacks of two threads lie further apart.
 */
#define NESTED_STACK_BYTES 65536

/* The stub returns the result or, if `jump` is set, goes there as if called. */
struct outcome {
	uint64_t result, jump;
};

typedef uint64_t (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

/* A call that is being handled. */
struct request {
	const struct heap_hook *hook;
	struct heap_frame *frame;
	struct heap_slot *slot;	    /* or NULL: the thread has a place of its own, */
	struct heap_thread *thread; /* which is this; else NULL */
	uint64_t size, old, out;
	int64_t countdown;			  /* before this allocation was counted */
	uint64_t mean;				  /* that it was sampled with */
	bool is_framed;				  /* HEAP_STUB_FRAMED */
	bool is_counted, is_sampled, was_sampled; /* was: the old block of realloc() */
};

/* Member by member: clearing the whole takes longer than all else. */
static inline void heap_begin_request(struct request *request, struct heap_frame *frame,
				      uint32_t which, int64_t counted)
{
	request->hook = &rules.hooks[which >> HEAP_STUB_HOOK_LOG2];
	request->frame = frame;
	request->slot = 0;
	request->thread = 0;
	request->size = request->old = request->out = request->mean = 0;
	request->countdown = counted;
	request->is_framed = which & HEAP_STUB_FRAMED;
	request->is_counted = which & HEAP_STUB_COUNTED;
	request->is_sampled = request->was_sampled = false;
}

/* By the processor's clock where it runs evenly; else the time of the reader's last visit. */
static inline uint64_t time_now(void)
{
	return rules.has_cycles ? machine_clock() : relaxed_load(&shared.visits.now_ns);
}

/* -- the ring -- */

static inline uint64_t ring_bytes(void)
{
	return rules.is_all ? HEAP_ALL_RING_BYTES : HEAP_RING_BYTES;
}

static inline uint64_t *record_at(uint64_t position)
{
	uint8_t *ring = rules.is_all ? heap_all()->ring : shared.ring;

	return (uint64_t *)(void *)&ring[position & (ring_bytes() - 1)];
}

static inline void commit(uint64_t *record, uint64_t position, uint64_t kind, uint64_t of,
			  uint64_t thread)
{
	__atomic_store_n(record, heap_commit_word(position) | thread << 32 | kind << 48 | of << 56,
			 __ATOMIC_RELEASE);
}

/*
 * The last parts of a ring are reserved for records that matter more than those which may use the
 * ring up to there. In this order: blocks and frees with stacks; large blocks with stacks; frees
 * without stacks; large blocks without stacks, up to the end. A lost block is represented by
 * others; but a block looks leaked if its free was lost, and nothing shows a large block that small
 * ones represent.
 */
#define SPARE_BYTES (HEAP_RING_BYTES / 8)

/* Large blocks are nearly always sampled. So are mappings, which are all recorded (mean 0). */
#define LARGE_MEANS 4
#define LARGE_BYTES (UINT64_C(128) << 10)

static inline bool is_large(const struct request *request)
{
	return request->size >= LARGE_BYTES && request->size / LARGE_MEANS >= request->mean;
}

enum spared_parts {
	SPARED_BY_LARGE_WITHOUT_STACK = 0,
	SPARED_BY_FREES = 1,
	SPARED_BY_LARGE = 2,
	SPARED_BY_OTHERS = 3,
};

/* Less than this is unread where the ring of --mem=all restarts at the end of a part. */
#define HEAP_NEAR_BYTES (HEAP_ALL_PART_BYTES / 2)

/* heap_ring_blob.c. NULL: there is no room. Records do not wrap at the end of the ring. */
uint64_t *heap_reserve(uint64_t nr_bytes, enum spared_parts spared, uint64_t *position);
/* The size of the ring's part for blocks of this kind, and the bytes left in it. */
uint64_t heap_room_bytes(const struct request *request);
uint64_t heap_room_left(const struct request *request);
/* The bytes of the stack from `sp` on that are to be copied, and can be read. */
uint64_t heap_stack_bytes_from(uint64_t sp);
/* False: there is no room, and the loss was counted. */
bool heap_emit(const struct request *request, enum heap_record_kind kind, uint64_t pointer);

/* -- the functions -- */

/* The argument with this number in a form; 0 if the number is 0. */
static inline uint64_t argument(const struct request *request, uint32_t number)
{
	uint64_t at = (number & ~(uint64_t)HEAP_ARGUMENT_INT) - 1;
	uint64_t value = at < HEAP_ARGUMENTS ? request->frame->arguments[at] : 0;

	return number & HEAP_ARGUMENT_INT ? (uint32_t)value : value;
}

/* The place for the stack pointer of a thread that is inside with its frame in this part. */
static inline uint64_t *inside_place(uint64_t part)
{
	return &heap_own()->inside_sp[(heap_hash(part) >> 32) % HEAP_INSIDE_PLACES];
}

static inline bool is_below(uint64_t sp, const uint64_t *inside_sp)
{
	uint64_t inside = relaxed_load(inside_sp);

	return sp < inside && inside - sp < NESTED_STACK_BYTES;
}

/* Is this call part of an allocation that is under way? */
static inline bool is_nested(const struct request *request)
{
	uint64_t sp = (uint64_t)request->frame;
	uint64_t part = sp / NESTED_STACK_BYTES;

	if (request->thread)
		return is_below(sp, &request->thread->inside_sp);
	return is_below(sp, inside_place(part)) || is_below(sp, inside_place(part + 1));
}

static inline bool throws(const struct request *request)
{
	return request->hook->form.function == HEAP_NEW ||
	       request->hook->form.function == HEAP_NEW_ALIGNED;
}

/* heap_slots_blob.c: the thread's own slot, or the one that it shares with others. */
struct heap_slot *heap_slot_of_thread(void);
/* The slot in which the request was counted, and the countdown before that; or that of the thread.
 */
void heap_find_slot(struct request *request);
/* At the end of a request: try to make one of the slots the thread's own. */
void heap_claim_slot(const struct request *request);

/* heap_calls_blob.c: false: the size overflows, so the function will fail. */
bool heap_read_arguments(struct request *request);
/* False: more arguments may be on the stack than can be copied from it. */
bool heap_can_be_called(const struct request *request);
uint64_t heap_call_function(const struct request *request, uint64_t function_at);
uint64_t heap_call_original(const struct request *request);
uint64_t heap_pointer_of(const struct request *request, uint64_t result);

/* heap_sample_blob.c, heap_all_blob.c, heap_edges_blob.c */
struct outcome heap_on_free(struct request *request);
struct outcome heap_on_allocation(struct request *request);
struct outcome heap_record_one(struct heap_frame *frame, uint32_t which);
struct outcome heap_on_map(struct request *request);
struct outcome heap_on_exit(const struct request *request);

#pragma GCC visibility pop

#endif
