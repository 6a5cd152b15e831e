// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers the blob, which may not ask the kernel. */
#include "heap/heap_answer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "heap/heap_ring.h"
#include "proc/range.h"
#include "proc/read.h"
#include "proc/target_memory.h"

/* Stacks are examined this far below the thread's data, this many at once. */
#define STACK_BYTES_MAX (UINT64_C(8) << 20)
#define STACKS_AT_ONCE	16
/* More than was asked for, as a thread calls deeper later. */
#define STACK_BYTES_MORE (UINT64_C(256) << 10)
#define PAGES_AT_ONCE	 512
/* Checking all threads takes some milliseconds in large processes. */
#define AGAIN_NS (100 * NS_PER_MS)
/* Reading the maps takes at most this part of a CPU's time: a program that grows asks for ever. */
#define PAUSE_PER_READING 50
/* The main stack may grow down to there, into address space that is kept free for it. */
#define MAIN_STACK_BYTES (UINT64_C(64) << 20)

/* -- the private memory of a process -- */

static bool get(const struct heap_ring *ring, struct target_memory *memory, size_t offset,
		void *bytes, size_t nr)
{
	return target_memory_get(memory, ring->private_address + offset, bytes, nr);
}

static bool put(const struct heap_ring *ring, struct target_memory *memory, size_t offset,
		const void *bytes, size_t nr)
{
	return target_memory_put(memory, ring->private_address + offset, bytes, nr);
}

/* Opens the address space with our memory: if the process calls exec later, that one stays. */
static struct target_memory *open_own(const struct heap_ring *ring, pid_t pid,
				      const struct heap_members *members)
{
	struct target_memory *memory = target_memory_open(pid, members->backings);
	uint64_t mark = 0;

	if (memory &&
	    (!get(ring, memory, offsetof(struct heap_private, known.mark), &mark, sizeof(mark)) ||
	     mark != ring->mark)) {
		target_memory_close(memory);
		memory = NULL;
	}
	return memory;
}

/* The first members of struct heap_known: one write takes several of them there. */
struct known_ids {
	int32_t tid_at;
	uint32_t padding;
	uint64_t main_data;
};

struct known_first {
	uint64_t mark;
	struct known_ids ids;
	struct heap_stack main_stack;
	struct heap_writable writable;
};

_Static_assert(offsetof(struct heap_known, tid_at) == offsetof(struct known_first, ids) &&
		       offsetof(struct heap_known, main_data) ==
			       offsetof(struct known_first, ids.main_data) &&
		       offsetof(struct heap_known, main_stack) ==
			       offsetof(struct known_first, main_stack) &&
		       offsetof(struct heap_known, writable) ==
			       offsetof(struct known_first, writable),
	       "they are laid out alike");

void heap_answer_ids(const struct heap_ring *ring, struct target_memory *memory, int32_t tid_at,
		     uint64_t main_data)
{
	const struct known_ids ids = {.tid_at = tid_at, .main_data = main_data};

	put(ring, memory, offsetof(struct heap_private, known.tid_at), &ids, sizeof(ids));
}

/* A thread of the process may read it at any time: it has no root until all is there. */
void heap_answer_links(const struct heap_ring *ring, pid_t pid, const struct heap_members *members,
		       const struct frame_links *links)
{
	cleanup_target_memory struct target_memory *memory = open_own(ring, pid, members);
	struct frame_links without_root = *links;

	if (!memory)
		return;
	without_root.root = FRAME_LINKS_NONE;
	put(ring, memory, offsetof(struct heap_private, known.links), &without_root,
	    sizeof(without_root));
	put(ring, memory, offsetof(struct heap_private, known.links.root), &links->root,
	    sizeof(links->root));
}

/* -- stacks -- */

/* How many pages from `highest` downwards are readable, also by the process itself. */
static size_t readable_pages(struct target_memory *memory, pid_t pid, uint64_t highest, size_t nr)
{
	uint8_t bytes[PAGES_AT_ONCE];
	struct iovec there[PAGES_AT_ONCE];
	struct iovec here = {.iov_base = bytes};
	size_t nr_ready = 0;
	ssize_t got;

	while (nr_ready < nr &&
	       target_memory_is_ready(memory, highest - nr_ready * page_bytes(), 1))
		nr_ready++;
	for (size_t i = 0; i < nr_ready; i++)
		there[i] = (struct iovec){
			.iov_base = (void *)(uintptr_t)(highest - i * page_bytes()), .iov_len = 1};
	here.iov_len = nr_ready;
	got = process_vm_readv(pid, &here, 1, there, nr_ready, 0);
	return got > 0 ? (size_t)got : 0;
}

/* The lowest readable address, down to `wanted` and some more; `data`: none is readable. */
static uint64_t find_low(struct target_memory *memory, pid_t pid, uint64_t data, uint64_t wanted)
{
	uint64_t lowest = wanted - min_u64(wanted, STACK_BYTES_MORE);
	uint64_t page = page_start(data);

	if (lowest < data - min_u64(data, STACK_BYTES_MAX))
		lowest = data - min_u64(data, STACK_BYTES_MAX);
	while (page > lowest) {
		size_t nr = (size_t)min_u64((page - lowest) / page_bytes() + 1, PAGES_AT_ONCE);
		size_t got = readable_pages(memory, pid, page, nr);

		page -= got * page_bytes();
		if (got < nr)
			break;
	}
	return page == page_start(data) ? data : page + page_bytes();
}

static bool is_answered(const struct heap_stack_question *stack, uint64_t owner, uint64_t wanted)
{
	return __atomic_load_n(&stack->answered_owner, __ATOMIC_RELAXED) == owner &&
	       __atomic_load_n(&stack->answered_low, __ATOMIC_RELAXED) <= wanted;
}

/* True: it took some time. */
static bool answer_stack(const struct heap_ring *ring, size_t place, pid_t owner,
			 const struct heap_members *members)
{
	struct heap_stack_question *stack = &ring->shared->stacks[place];
	uint64_t data = __atomic_load_n(&stack->data, __ATOMIC_ACQUIRE);
	uint64_t wanted = __atomic_load_n(&stack->wanted, __ATOMIC_RELAXED);
	int32_t pid = __atomic_load_n(&stack->pid, __ATOMIC_RELAXED);
	int32_t tid = __atomic_load_n(&stack->tid, __ATOMIC_RELAXED);
	uint64_t id = heap_stack_owner(data, pid, tid);
	struct heap_stack_answer answer;
	cleanup_target_memory struct target_memory *memory = NULL;
	pid_t process;

	if (!data || wanted >= data || is_answered(stack, id, wanted))
		return false;
	process = pid == ring->owner_pid ? owner : members->find(members->context, pid);
	if (process <= 0)
		return false;
	memory = open_own(ring, process, members);
	answer.low = memory ? find_low(memory, process, data, wanted) : data;
	answer.check = heap_stack_check(id, answer.low);
	put(ring, memory, offsetof(struct heap_private, known.stacks) + place * sizeof(answer),
	    &answer, sizeof(answer));
	__atomic_store_n(&stack->answered_low, answer.low, __ATOMIC_RELAXED);
	__atomic_store_n(&stack->answered_owner, id, __ATOMIC_RELAXED);
	return true;
}

static void answer_stacks(struct heap_ring *ring, pid_t owner, const struct heap_members *members)
{
	struct heap_answers *answers = &ring->answers;
	uint64_t asked = __atomic_load_n(&ring->shared->asked.nr_stacks, __ATOMIC_ACQUIRE);
	size_t nr = 0;

	if (asked == answers->stacks_asked)
		return;
	for (size_t i = 0; i < HEAP_THREAD_STACKS && nr < STACKS_AT_ONCE; i++) {
		answers->next_stack = (answers->next_stack + 1) % HEAP_THREAD_STACKS;
		nr += answer_stack(ring, answers->next_stack, owner, members);
	}
	if (nr < STACKS_AT_ONCE)
		answers->stacks_asked = asked;
}

/* -- memory that can be written to -- */

struct ranges {
	struct heap_stack *at; /* owned */
	size_t nr, cap;
};

static int by_size(const void *left, const void *right)
{
	const struct heap_stack *a = left, *b = right;
	uint64_t of_a = a->end - a->start, of_b = b->end - b->start;

	return (of_a < of_b) - (of_a > of_b);
}

static int by_start(const void *left, const void *right)
{
	const struct heap_stack *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static void add_range(struct ranges *ranges, const struct proc_range *range)
{
	struct heap_stack *last = ranges->nr ? &ranges->at[ranges->nr - 1] : NULL;

	if (last && last->end == range->start) {
		last->end = range->end;
		return;
	}
	ARRAY_GROW(ranges->at, ranges->nr, ranges->cap);
	ranges->at[ranges->nr++] = (struct heap_stack){range->start, range->end};
}

/* As many as there is room for, the largest ones. */
static void limit_ranges(struct ranges *ranges)
{
	if (ranges->nr <= HEAP_WRITABLE_MAX)
		return;
	qsort(ranges->at, ranges->nr, sizeof(*ranges->at), by_size);
	ranges->nr = HEAP_WRITABLE_MAX;
	qsort(ranges->at, ranges->nr, sizeof(*ranges->at), by_start);
}

#define WRITABLE_AT(member) offsetof(struct heap_private, known.writable.member)

static void tell_ranges(const struct heap_ring *ring, struct target_memory *memory,
			struct ranges *ranges)
{
	uint64_t version = 0;

	if (!get(ring, memory, WRITABLE_AT(version), &version, sizeof(version)))
		return;
	version |= 1;
	put(ring, memory, WRITABLE_AT(version), &version, sizeof(version));
	put(ring, memory, WRITABLE_AT(ranges), ranges->at, ranges->nr * sizeof(*ranges->at));
	put(ring, memory, WRITABLE_AT(nr), &ranges->nr, sizeof(ranges->nr));
	version++;
	put(ring, memory, WRITABLE_AT(version), &version, sizeof(version));
}

/*
 * The main thread's stack, in this range: down to the next mapping below, which lies above `from`.
 */
static struct heap_stack main_stack_in(const struct proc_range *stack, uint64_t end, uint64_t from,
				       struct target_memory *memory)
{
	struct proc_range_walk walk;
	struct proc_range range;
	uint64_t below = from;

	proc_range_walk_begin(&walk, target_memory_maps(memory), PROC_RANGE_ANY);
	walk.at = from;
	while (proc_range_walk_next(&walk, &range) && range.start < stack->start)
		below = range.end;
	proc_range_walk_end(&walk);
	return (struct heap_stack){.start = max_u64(below, end - min_u64(end, MAIN_STACK_BYTES)),
				   .end = end};
}

/* False: the maps could not be read to their end. */
static bool find_ranges(struct target_memory *memory, struct ranges *ranges,
			struct heap_stack *main_stack)
{
	const uint64_t first_sp = target_memory_first_sp(memory);
	struct proc_range_walk walk;
	struct proc_range range;
	uint64_t last = 0;

	proc_range_walk_begin(&walk, target_memory_maps(memory),
			      PROC_RANGE_READ | PROC_RANGE_WRITE);
	while (proc_range_walk_next(&walk, &range)) {
		add_range(ranges, &range);
		if (first_sp > range.start && first_sp <= range.end)
			*main_stack = main_stack_in(&range, first_sp, last, memory);
		last = range.end;
	}
	proc_range_walk_end(&walk);
	limit_ranges(ranges);
	return !walk.has_failed;
}

/* By one write, as nothing reads it yet. */
void heap_answer_begin(struct heap_ring *ring, struct target_memory *memory)
{
	struct ranges ranges = {.nr = 0};
	struct heap_stack main_stack = {.end = 0};
	bool is_read = find_ranges(memory, &ranges, &main_stack);
	const size_t nr_bytes = ranges.nr * sizeof(*ranges.at),
		     nr_first = offsetof(struct known_first, writable.ranges);
	/* As much of it as is written. */
	struct known_first *known = xcalloc(1, nr_first + nr_bytes);

	if (getrandom(&ring->mark, sizeof(ring->mark), 0) != sizeof(ring->mark))
		ring->mark = clock_monotonic_ns();
	known->mark = ring->mark;
	known->main_stack = main_stack;
	known->writable.version = is_read ? 2 : 0;
	known->writable.nr = is_read ? ranges.nr : 0;
	if (ranges.nr)
		memcpy(known->writable.ranges, ranges.at, nr_bytes);
	put(ring, memory, offsetof(struct heap_private, known), known, nr_first + nr_bytes);
	free(known);
	free(ranges.at);
}

void heap_answer_maps(const struct heap_ring *ring, struct target_memory *memory)
{
	struct ranges ranges = {.nr = 0};
	struct heap_stack main_stack = {.end = 0};
	bool is_read = find_ranges(memory, &ranges, &main_stack);

	if (main_stack.end)
		put(ring, memory, offsetof(struct heap_private, known.main_stack), &main_stack,
		    sizeof(main_stack));
	if (is_read)
		tell_ranges(ring, memory, &ranges);
	free(ranges.at);
}

/* Finds the process that asked, by the id it has for itself. 0: it does not have our memory. */
static pid_t asker(const struct heap_ring *ring, int32_t said, pid_t owner,
		   const struct heap_members *members)
{
	pid_t process = said == ring->owner_pid ? owner : members->find(members->context, said);

	return process > 0 ? process : 0;
}

static void answer_writable(struct heap_ring *ring, pid_t owner, const struct heap_members *members,
			    uint64_t now_ns)
{
	struct heap_answers *answers = &ring->answers;
	const struct heap_asked *asked = &ring->shared->asked;
	uint64_t missed = __atomic_load_n(&asked->nr_writable, __ATOMIC_RELAXED);
	cleanup_target_memory struct target_memory *memory = NULL;
	uint64_t took_ns;
	pid_t process;

	if (missed == answers->writable_missed || now_ns < answers->writable_again_ns)
		return;
	answers->writable_missed = missed;
	process = asker(ring, __atomic_load_n(&asked->writable_pid, __ATOMIC_RELAXED), owner,
			members);
	memory = process ? open_own(ring, process, members) : NULL;
	if (memory)
		heap_answer_maps(ring, memory);
	took_ns = clock_monotonic_ns() - now_ns;
	answers->writable_again_ns = now_ns + took_ns * PAUSE_PER_READING;
}

/* -- threads that have ended -- */

#define THREAD_AT(index, member)                                                                   \
	(offsetof(struct heap_private, threads) + (index) * sizeof(struct heap_thread) +           \
	 offsetof(struct heap_thread, member))

static bool has_ended(const struct heap_thread *thread)
{
	return thread->data && thread->tid > 0 && thread->tid <= INT32_MAX && thread->claim &&
	       thread->ended != thread->claim && kill((pid_t)thread->tid, 0) < 0 && errno == ESRCH;
}

/* A new thread may take the place meanwhile: it stores its id before its claim. */
static void answer_ended_of(const struct heap_ring *ring, struct target_memory *memory)
{
	const size_t nr_bytes = HEAP_THREADS * sizeof(struct heap_thread);
	struct heap_thread *threads = xcalloc(HEAP_THREADS, sizeof(*threads));

	if (!get(ring, memory, offsetof(struct heap_private, threads), threads, nr_bytes))
		threads->data = 0;
	for (size_t i = 0; i < HEAP_THREADS; i++) {
		struct heap_thread again;

		if (has_ended(&threads[i]) &&
		    get(ring, memory, THREAD_AT(i, data), &again, sizeof(again)) &&
		    again.claim == threads[i].claim && again.tid == threads[i].tid)
			put(ring, memory, THREAD_AT(i, ended), &again.claim, sizeof(again.claim));
	}
	free(threads);
}

/* In another PID namespace the ids mean other threads here. */
static void answer_ended(struct heap_ring *ring, pid_t owner, const struct heap_members *members,
			 uint64_t now_ns)
{
	struct heap_answers *answers = &ring->answers;
	const struct heap_asked *asked = &ring->shared->asked;
	uint64_t missed = __atomic_load_n(&asked->nr_places, __ATOMIC_RELAXED);
	int32_t said = __atomic_load_n(&asked->places_pid, __ATOMIC_RELAXED);
	cleanup_target_memory struct target_memory *memory = NULL;
	pid_t process;

	if (!ring->all || missed == answers->places_missed || now_ns < answers->ended_again_ns)
		return;
	answers->places_missed = missed;
	answers->ended_again_ns = now_ns + AGAIN_NS;
	process = asker(ring, said, owner, members);
	memory = process && process == said ? open_own(ring, process, members) : NULL;
	if (memory)
		answer_ended_of(ring, memory);
}

void heap_answer(struct heap_ring *ring, pid_t owner, const struct heap_members *members,
		 uint64_t now_ns)
{
	answer_stacks(ring, owner, members);
	answer_writable(ring, owner, members, now_ns);
	answer_ended(ring, owner, members, now_ns);
}
