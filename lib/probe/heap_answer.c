// SPDX-License-Identifier: GPL-2.0-or-later
/* Tells our code in a process what it may not ask the kernel for. */
#include "probe/heap_answer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "probe/heap_ring.h"
#include "proc/maps.h"
#include "proc/read.h"

#define PAGE_BYTES UINT64_C(4096)
/* Stacks of threads are looked at so far below their data, and so many of them at once. */
#define STACK_BYTES_MAX (UINT64_C(8) << 20)
#define STACKS_AT_ONCE	16
/* More than was asked for, as a thread calls deeper later. */
#define STACK_BYTES_MORE (UINT64_C(256) << 10)
#define PAGES_AT_ONCE	 512
/* Reading the maps, or asking after all threads, takes some milliseconds in large processes. */
#define AGAIN_NS (100 * NS_PER_MS)
/* The main stack grows down to there; address space within is kept free for it. */
#define MAIN_STACK_BYTES (UINT64_C(64) << 20)

/* -- stacks -- */

/* How many pages from there on downwards are all readable. */
static size_t readable_pages(pid_t pid, uint64_t highest, size_t nr)
{
	uint8_t bytes[PAGES_AT_ONCE];
	struct iovec there[PAGES_AT_ONCE];
	const struct iovec here = {.iov_base = bytes, .iov_len = nr};
	ssize_t got;

	for (size_t i = 0; i < nr; i++)
		there[i] = (struct iovec){.iov_base = (void *)(uintptr_t)(highest - i * PAGE_BYTES),
					  .iov_len = 1};
	got = process_vm_readv(pid, &here, 1, there, nr, 0);
	return got > 0 ? (size_t)got : 0;
}

/* The lowest page, down to what is wanted and a bit more; `data` itself: none is. */
static uint64_t find_low(pid_t pid, uint64_t data, uint64_t wanted)
{
	uint64_t lowest = wanted - min_u64(wanted, STACK_BYTES_MORE);
	uint64_t page = data & -PAGE_BYTES;

	if (lowest < data - min_u64(data, STACK_BYTES_MAX))
		lowest = data - min_u64(data, STACK_BYTES_MAX);
	while (page > lowest) {
		size_t nr = (size_t)min_u64((page - lowest) / PAGE_BYTES + 1, PAGES_AT_ONCE);
		size_t got = readable_pages(pid, page, nr);

		page -= got * PAGE_BYTES;
		if (got < nr)
			break;
	}
	return page == (data & -PAGE_BYTES) ? data : page + PAGE_BYTES;
}

static bool is_answered(const struct heap_thread_stack *stack, uint64_t owner, uint64_t wanted)
{
	return __atomic_load_n(&stack->of, __ATOMIC_RELAXED) == owner &&
	       __atomic_load_n(&stack->low, __ATOMIC_RELAXED) <= wanted;
}

static void publish(struct heap_thread_stack *stack, uint64_t owner, uint64_t low)
{
	__atomic_store_n(&stack->of, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&stack->low, low, __ATOMIC_SEQ_CST);
	__atomic_store_n(&stack->of, owner, __ATOMIC_SEQ_CST);
}

/* True: it took some time. */
static bool answer_stack(struct heap_thread_stack *stack, const struct heap_ring *ring, pid_t owner,
			 const struct heap_members *members)
{
	uint64_t data = __atomic_load_n(&stack->data, __ATOMIC_ACQUIRE);
	uint64_t wanted = __atomic_load_n(&stack->wanted, __ATOMIC_RELAXED);
	int32_t pid = __atomic_load_n(&stack->pid, __ATOMIC_RELAXED);
	int32_t tid = __atomic_load_n(&stack->tid, __ATOMIC_RELAXED);
	uint64_t id = heap_stack_owner(data, pid, tid);
	pid_t process;

	if (!data || wanted >= data || is_answered(stack, id, wanted))
		return false;
	process = pid == ring->owner_pid ? owner : members->find(members->context, pid);
	if (process <= 0)
		return false;
	publish(stack, id, find_low(process, data, wanted));
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
		nr += answer_stack(&ring->shared->memory.stacks[answers->next_stack], ring, owner,
				   members);
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

static void add_range(struct ranges *ranges, const struct proc_map *map)
{
	struct heap_stack *last = ranges->nr ? &ranges->at[ranges->nr - 1] : NULL;

	if (last && last->end == map->start) {
		last->end = map->end;
		return;
	}
	ARRAY_GROW(ranges->at, ranges->nr, ranges->cap);
	ranges->at[ranges->nr++] = (struct heap_stack){map->start, map->end};
}

static void share_ranges(struct heap_writable *writable, struct ranges *ranges)
{
	uint64_t version = writable->version | 1;

	if (ranges->nr > HEAP_WRITABLE_MAX) {
		qsort(ranges->at, ranges->nr, sizeof(*ranges->at), by_size);
		ranges->nr = HEAP_WRITABLE_MAX;
		qsort(ranges->at, ranges->nr, sizeof(*ranges->at), by_start);
	}
	__atomic_store_n(&writable->version, version, __ATOMIC_SEQ_CST);
	if (ranges->nr)
		memcpy(writable->ranges, ranges->at, ranges->nr * sizeof(*ranges->at));
	writable->nr = ranges->nr;
	__atomic_store_n(&writable->version, version + 1, __ATOMIC_SEQ_CST);
}

/* What lies next below it, whatever that is. */
static void share_main_stack(struct heap_shared *shared, const struct proc_stat *stat,
			     const struct proc_map *map, uint64_t below)
{
	uint64_t end = stat->first_sp;

	if (end <= map->start || end > map->end)
		return;
	shared->memory.main_stack.start = max_u64(below, end - min_u64(end, MAIN_STACK_BYTES));
	shared->memory.main_stack.end = end;
}

void heap_answer_maps(struct heap_shared *shared, pid_t pid)
{
	struct buf text = {0};
	struct ranges ranges = {.nr = 0};
	struct proc_maps_iter iter;
	struct proc_stat stat = {.first_sp = 0};
	struct proc_map map;
	uint64_t below = 0;

	if (!proc_read_process_file(pid, "maps", &text))
		return;
	proc_read_task_stat(pid, pid, &stat);
	iter = proc_maps_over(buf_str(&text), text.nr_bytes);
	while (proc_maps_next(&iter, &map) == 1) {
		if (map.readable && map.writable) {
			add_range(&ranges, &map);
			share_main_stack(shared, &stat, &map, below);
		}
		below = map.end;
	}
	share_ranges(&shared->memory.writable, &ranges);
	free(ranges.at);
	buf_release(&text);
}

static void answer_writable(struct heap_ring *ring, pid_t owner, uint64_t now_ns)
{
	struct heap_answers *answers = &ring->answers;
	uint64_t missed = __atomic_load_n(&ring->shared->asked.nr_writable, __ATOMIC_RELAXED);

	if (owner <= 0 || missed == answers->writable_missed || now_ns < answers->writable_again_ns)
		return;
	answers->writable_missed = missed;
	answers->writable_again_ns = now_ns + AGAIN_NS;
	heap_answer_maps(ring->shared, owner);
}

/* -- threads that have ended -- */

/* In another PID namespace they have other ids for us. */
static void answer_ended(struct heap_ring *ring, pid_t owner, uint64_t now_ns)
{
	struct heap_answers *answers = &ring->answers;
	uint64_t missed = __atomic_load_n(&ring->shared->asked.nr_places, __ATOMIC_RELAXED);
	uint64_t nr;

	if (!ring->all || ring->owner_pid != owner || missed == answers->places_missed ||
	    now_ns < answers->ended_again_ns)
		return;
	answers->places_missed = missed;
	answers->ended_again_ns = now_ns + AGAIN_NS;
	nr = min_u64(__atomic_load_n(&ring->all->nr_names, __ATOMIC_RELAXED), HEAP_NAMES - 1);
	for (uint64_t i = 1; i <= nr; i++) {
		struct heap_name *name = &ring->all->names[i];
		pid_t tid = __atomic_load_n(&name->tid, __ATOMIC_ACQUIRE);

		if (tid > 0 && !name->has_ended && kill(tid, 0) < 0 && errno == ESRCH)
			__atomic_store_n(&name->has_ended, 1, __ATOMIC_RELAXED);
	}
}

void heap_answer(struct heap_ring *ring, pid_t owner, const struct heap_members *members,
		 uint64_t now_ns)
{
	answer_stacks(ring, owner, members);
	answer_writable(ring, owner, now_ns);
	answer_ended(ring, owner, now_ns);
}
