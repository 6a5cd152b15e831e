// SPDX-License-Identifier: GPL-2.0-or-later
/* The blob with --mem=all: it records every call. */
#include "heap/heap_record_blob.h"

/* 0: none is left. */
static uint64_t take_name(int64_t tid)
{
	struct heap_all *all = heap_all();
	uint64_t name = relaxed_load(&all->nr_names);
	bool is_taken = false;

	for (int i = 0; i < TRIES_MAX && !is_taken; i++) {
		if (name >= HEAP_NAMES - 1)
			return 0;
		is_taken = exchange(&all->nr_names, &name, name + 1);
	}
	if (!is_taken)
		return 0;
	all->names[name + 1].pid = (int32_t)own_pid();
	__atomic_store_n(&all->names[name + 1].tid, (int32_t)tid, __ATOMIC_RELEASE);
	return name + 1;
}

/* 0: none is left. */
static uint64_t take_walk(void)
{
	uint64_t walk = relaxed_add(&heap_own()->nr_walks, 1);

	return walk < HEAP_WALKS ? walk + 1 : 0;
}

/*
 * False if another thread has claimed the place meanwhile, because its owner looked gone. Each sees
 * the other's store.
 */
static bool claim(struct heap_thread *thread, uint64_t data, int64_t tid)
{
	__atomic_store_n(&thread->tid, tid, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&thread->data, __ATOMIC_SEQ_CST) != data)
		return false;
	/* Stored after the id: a reader that sees the claim sees the id, too. */
	__atomic_store_n(&thread->claim, relaxed_add(&heap_own()->nr_claims, 1) + 1,
			 __ATOMIC_RELEASE);
	relaxed_store(&thread->inside_sp, 0);
	relaxed_store(&thread->in_flight, 0);
	thread->name = take_name(tid);
	if (!thread->walk)
		thread->walk = take_walk();
	thread->is_walking = thread->readable_end = thread->readable = thread->left = 0;
	return true;
}

/* profc sets `ended` once the thread is gone. */
static bool has_ended(const struct heap_thread *thread)
{
	uint64_t claim = relaxed_load(&thread->claim);

	return claim && relaxed_load(&thread->ended) == claim;
}

/* Takes the place of a thread that has ended. */
static bool take_over(struct heap_thread *thread, uint64_t data, int64_t tid)
{
	uint64_t was = relaxed_load(&thread->data);
	int64_t former = relaxed_load(&thread->tid);

	if (!former || !has_ended(thread) || !exchange(&thread->data, &was, data))
		return false;
	if (__atomic_load_n(&thread->tid, __ATOMIC_SEQ_CST) == former)
		return claim(thread, data, tid);
	__atomic_store_n(&thread->data, was, __ATOMIC_SEQ_CST); /* its owner has claimed it again */
	return false;
}

/* NULL: the places near the thread's own are taken, or the thread has no data. */
static struct heap_thread *find_thread(void)
{
	struct heap_thread *threads = heap_own()->threads;
	uint64_t data = thread_data();
	uint64_t first = heap_hash(data) >> 32;
	int64_t tid = data ? heap_own_tid() : 0;

	for (uint64_t i = 0; data && i < HEAP_PROBES; i++) {
		struct heap_thread *thread = &threads[(first + i) % HEAP_THREADS];
		uint64_t was = relaxed_load(&thread->data);

		if (was == data && relaxed_load(&thread->tid) == tid)
			return thread;
		if (was == data || (!was && exchange(&thread->data, &was, data)))
			return claim(thread, data, tid) ? thread : 0;
	}
	for (uint64_t i = 0; data && i < HEAP_PROBES; i++) {
		struct heap_thread *thread = &threads[(first + i) % HEAP_THREADS];

		if (take_over(thread, data, tid))
			return thread;
	}
	relaxed_store(&shared.asked.places_pid, (int32_t)own_pid());
	relaxed_add(&shared.asked.nr_places, 1);
	return 0;
}

static void count_dropped(const struct request *request)
{
	relaxed_add(&shared.lost.dropped_bytes, request->size);
	relaxed_add(&shared.lost.dropped_blocks, 1);
}

static inline enum spared_parts spared_by(const struct request *request, enum heap_record_kind kind)
{
	if (kind != HEAP_RECORD_ALLOCATION)
		return SPARED_BY_FREES;
	return is_large(request) ? SPARED_BY_LARGE_WITHOUT_STACK : SPARED_BY_OTHERS;
}

/* As heap_reserve(), and shorter where there is room. */
static inline uint64_t *reserve(uint64_t nr_bytes, enum spared_parts spared, uint64_t *position)
{
	uint64_t head = relaxed_load(&shared.head);
	uint64_t used = head - __atomic_load_n(&shared.tail, __ATOMIC_ACQUIRE);

	if (used > HEAP_ALL_RING_BYTES - (uint64_t)spared * SPARE_BYTES - nr_bytes ||
	    HEAP_ALL_PART_BYTES - head % HEAP_ALL_PART_BYTES <= nr_bytes ||
	    !exchange(&shared.head, &head, head + nr_bytes))
		return heap_reserve(nr_bytes, spared, position);
	*position = head;
	return record_at(head);
}

static uint64_t stamp(struct heap_thread *thread, uint64_t visit)
{
	uint64_t now = time_now();
	bool is_dense = now - thread->stamped_at < thread->stride * HEAP_DENSE_TIME;

	thread->stride = is_dense ? HEAP_STRIDE : 1;
	thread->left = thread->stride - 1;
	thread->stamped_at = now;
	thread->stamped_visit = visit;
	return now;
}

/* 0: that of the record before is good enough. */
static inline uint64_t time_of_record(struct heap_thread *thread)
{
	uint64_t visit = relaxed_load(&shared.visits.nr);

	if (!thread->left || thread->stamped_visit != visit)
		return stamp(thread, visit);
	thread->left--;
	return 0;
}

/*
 * The reader's processor holds the cache lines that it has read. The next change of the head waits
 * until all that was written before is in the cache: so lines are fetched early.
 */
#define FETCH_BYTES 1024

/* False: there is no room. Inlined, as each caller has constant flags. */
static inline __attribute__((always_inline)) bool write(struct record *record)
{
	enum heap_record_kind kind = record->kind & HEAP_KIND_MASK;
	uint64_t position;
	uint64_t *words = reserve(heap_record_bytes(record->kind, caller_bytes_of(record)),
				  spared_by(record->request, kind), &position);

	if (!words)
		return false;
	machine_fetch_to_write(words + FETCH_BYTES / sizeof(*words));
	write_record(record, words, position);
	return true;
}

/* For a thread without a place of its own, or without a name. */
static __attribute__((noinline)) bool emit_named(const struct request *request, uint32_t kind,
						 uint64_t pointer, uint64_t signature,
						 uint64_t nr_stack_bytes,
						 const struct heap_pieces *pieces)
{
	struct record record = {.request = request,
				.kind = kind | flags_of(request, kind & HEAP_KIND_MASK) |
					HEAP_HAS_NAME | HEAP_HAS_TIME,
				.pointer = pointer,
				.signature = signature,
				.time = time_now(),
				.nr_stack_bytes = nr_stack_bytes,
				.pieces = pieces};

	return write(&record);
}

static inline __attribute__((always_inline)) bool emit(const struct request *request, uint32_t kind,
						       uint64_t pointer, uint64_t signature,
						       uint64_t nr_stack_bytes,
						       const struct heap_pieces *pieces)
{
	struct record record = {.request = request,
				.kind = kind | flags_of(request, kind & HEAP_KIND_MASK),
				.pointer = pointer,
				.signature = signature,
				.nr_stack_bytes = nr_stack_bytes,
				.pieces = pieces};

	if (!request->thread || !request->thread->name)
		return emit_named(request, kind, pointer, signature, nr_stack_bytes, pieces);
	record.time = time_of_record(request->thread);
	if (record.time)
		record.kind |= HEAP_HAS_TIME;
	return write(&record);
}

/* A block whose stack was copied before. */
static bool emit_signed(const struct request *request, uint64_t pointer, uint64_t signature)
{
	return emit(request, HEAP_RECORD_ALLOCATION | HEAP_HAS_SIGNATURE, pointer, signature, 0, 0);
}

static bool emit_with_stack(const struct request *request, uint64_t pointer, uint64_t signature)
{
	uint64_t room = heap_stack_bytes_from((uint64_t)(request->frame + 1));
	struct heap_pieces pieces;

	if (!signature) {
		signature = heap_sign_words(request->frame, request->thread, room);
		signature = heap_sign_script(request->frame, signature, request->old);
	}
	if (signature && heap_is_published(signature, request->thread))
		return emit_signed(request, pointer, signature);
	heap_find_pieces(&pieces, request->frame, request->old);
	if (!emit(request, HEAP_RECORD_ALLOCATION | HEAP_HAS_SIGNATURE | HEAP_HAS_CALLER, pointer,
		  signature, room, &pieces))
		return false;
	if (signature)
		heap_publish(signature);
	return true;
}

static void emit_allocation(const struct request *request, uint64_t pointer)
{
	uint64_t signature = heap_sign(request->frame, request->thread);

	signature = heap_sign_script(request->frame, signature, request->old);
	if (signature && heap_is_published(signature, request->thread)
		    ? emit_signed(request, pointer, signature)
		    : emit_with_stack(request, pointer, signature))
		return;
	relaxed_add(&shared.lost.nr_dropped, 1);
	count_dropped(request);
}

static void emit_free(const struct request *request, uint64_t pointer)
{
	if (!emit(request, HEAP_RECORD_FREE, pointer, 0, 0, 0))
		relaxed_add(&shared.lost.nr_frees, 1);
}

static void emit_kept(const struct request *request, uint64_t pointer)
{
	if (!emit(request, HEAP_RECORD_KEPT, pointer, 0, 0, 0))
		relaxed_add(&shared.lost.nr_dropped, 1);
}

static struct outcome free_one(struct request *request)
{
	uint64_t pointer = argument(request, request->hook->form.pointer);

	if (pointer && !is_nested(request))
		emit_free(request, pointer);
	return (struct outcome){.jump = request->hook->original};
}

static struct outcome allocate_one(struct request *request)
{
	struct outcome outcome = {.jump = request->hook->original};
	uint64_t pointer;

	if (!heap_read_arguments(request) || is_nested(request))
		return outcome;
	if (!heap_can_be_called(request)) {
		relaxed_add(&shared.lost.nr_dropped, 1);
		return outcome;
	}
	request->was_sampled = request->old != 0;
	if (request->old)
		emit_free(request, request->old);
	outcome.result = heap_call_original(request);
	pointer = heap_pointer_of(request, outcome.result);
	if (pointer)
		emit_allocation(request, pointer);
	else if (request->old && request->size)
		emit_kept(request, request->old);
	if (!throws(request) || outcome.result)
		outcome.jump = 0;
	return outcome;
}

static struct outcome record_any(struct request *request)
{
	struct heap_thread *thread = find_thread();
	struct outcome outcome;

	request->thread = thread;
	if (!thread)
		request->slot = heap_slot_of_thread();
	/* The original does not return to the blob: the thread's pc shows whether it is here. */
	if (heap_frees(&request->hook->form))
		return free_one(request);
	if (thread)
		machine_add_here(&thread->in_flight, 1);
	else
		relaxed_add(&heap_own()->in_flight, 1);
	outcome = heap_maps(&request->hook->form) ? heap_on_map(request) : allocate_one(request);
	if (thread)
		machine_add_here(&thread->in_flight, -1);
	else
		relaxed_add(&heap_own()->in_flight, -1);
	return outcome;
}

/* Not inlined: it takes registers and a stack that the short way does not need. */
static __attribute__((noinline)) struct outcome record_long(struct heap_frame *frame,
							    uint32_t which)
{
	struct request request;

	heap_begin_request(&request, frame, which, 0);
	return record_any(&request);
}

/* -- the short way: most calls of malloc() and free() -- */

/* The thread's place; NULL: the long way finds one, or a name for it. */
static inline struct heap_thread *own_place(void)
{
	uint64_t data = thread_data();
	int32_t at = relaxed_load(&heap_known()->tid_at);
	struct heap_thread *thread = &heap_own()->threads[(heap_hash(data) >> 32) % HEAP_THREADS];

	return data && at && relaxed_load(&thread->data) == data &&
			       relaxed_load(&thread->tid) == heap_id_at(data, at) && thread->name
		       ? thread
		       : 0;
}

/* Writes a record of these words behind the header; false: the long way is to do that. */
static inline __attribute__((always_inline)) bool write_short(struct heap_thread *thread,
							      uint32_t kind, enum heap_function of,
							      enum spared_parts spared,
							      uint64_t pointer, uint64_t size,
							      uint64_t signature)
{
	uint64_t time = time_of_record(thread);
	uint64_t head = relaxed_load(&shared.head);
	uint64_t used = head - __atomic_load_n(&shared.tail, __ATOMIC_ACQUIRE);
	uint64_t nr_bytes = heap_record_bytes(kind | (time ? HEAP_HAS_TIME : 0), 0);
	uint64_t *words;

	if (used > HEAP_ALL_RING_BYTES - (uint64_t)spared * SPARE_BYTES - nr_bytes ||
	    HEAP_ALL_PART_BYTES - head % HEAP_ALL_PART_BYTES <= nr_bytes ||
	    !exchange(&shared.head, &head, head + nr_bytes)) {
		thread->left = 0; /* the time was for this record */
		return false;
	}
	words = (uint64_t *)(void *)&heap_all()->ring[head % HEAP_ALL_RING_BYTES];
	machine_fetch_to_write(words + FETCH_BYTES / sizeof(*words));
	words[1] = pointer;
	if (kind & HEAP_HAS_SIZE)
		words[2] = size;
	if (kind & HEAP_HAS_SIGNATURE)
		words[3] = signature;
	if (time)
		words[heap_record_words(kind)] = time;
	commit(words, head, kind | (time ? HEAP_HAS_TIME : 0), of, thread->name);
	return true;
}

static inline bool free_short(const struct heap_frame *frame, struct heap_thread *thread)
{
	uint64_t pointer = frame->arguments[0];

	return !pointer || is_below((uint64_t)frame, &thread->inside_sp) ||
	       write_short(thread, HEAP_RECORD_FREE, HEAP_FREE, SPARED_BY_FREES, pointer, 0, 0);
}

static __attribute__((noinline)) void emit_long(struct heap_frame *frame, uint32_t which,
						struct heap_thread *thread, uint64_t pointer,
						uint64_t signature)
{
	struct request request;

	heap_begin_request(&request, frame, which, 0);
	request.thread = thread;
	request.size = frame->arguments[0];
	if (emit_signed(&request, pointer, signature))
		return;
	relaxed_add(&shared.lost.nr_dropped, 1);
	count_dropped(&request);
}

/* With a stack that is known already: the call does not change it. */
static inline uint64_t malloc_short(struct heap_frame *frame, uint32_t which,
				    struct heap_thread *thread, uint64_t signature)
{
	const struct heap_hook *hook = &rules.hooks[which >> HEAP_STUB_HOOK_LOG2];
	uint64_t size = frame->arguments[0], result;

	machine_add_here(&thread->in_flight, 1);
	relaxed_store(&thread->inside_sp, (uint64_t)frame);
	result = ((uint64_t(*)(uint64_t))hook->original)(size);
	relaxed_store(&thread->inside_sp, 0);
	if (result &&
	    (size >= LARGE_BYTES ||
	     !write_short(thread, HEAP_RECORD_ALLOCATION | HEAP_HAS_SIZE | HEAP_HAS_SIGNATURE,
			  HEAP_MALLOC, SPARED_BY_OTHERS, result, size, signature)))
		emit_long(frame, which, thread, result, signature);
	machine_add_here(&thread->in_flight, -1);
	return result;
}

/* 0: the stack is to be signed by the long way, or the call is part of another one. */
static inline uint64_t known_signature(const struct heap_frame *frame, struct heap_thread *thread)
{
	if (is_below((uint64_t)frame, &thread->inside_sp) ||
	    relaxed_load(&heap_known()->links.root))
		return 0;
	return heap_sign_again(frame, thread);
}

/* Not inlined: a free needs fewer registers. */
static __attribute__((noinline)) struct outcome record_malloc(struct heap_frame *frame,
							      uint32_t which,
							      struct heap_thread *thread)
{
	uint64_t signature = known_signature(frame, thread);

	if (!signature)
		return record_long(frame, which);
	return (struct outcome){.result = malloc_short(frame, which, thread, signature)};
}

static inline bool is_malloc(const struct heap_form *form)
{
	return form->function == HEAP_MALLOC && form->size == 1 && !form->count && !form->pointer &&
	       !form->out;
}

struct outcome heap_record_one(struct heap_frame *frame, uint32_t which)
{
	const struct heap_hook *hook = &rules.hooks[which >> HEAP_STUB_HOOK_LOG2];
	struct heap_thread *thread = own_place();

	if (thread && is_malloc(&hook->form))
		return record_malloc(frame, which, thread);
	if (thread && hook->form.function == HEAP_FREE && hook->form.pointer == 1 &&
	    free_short(frame, thread))
		return (struct outcome){.jump = hook->original};
	return record_long(frame, which);
}
