// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes records out of the ring. */
#include "probe/heap_ring.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/clock.h"

/* As long as this a thread may take to copy some kilobytes. */
#define PATIENCE_NS NS_PER_SEC

/* DWARF numbers */
enum { RBX = 3, RBP = 6, RSP = 7, R12 = 12, RIP = 16 };

#if defined(__x86_64__)

bool heap_ring_has_cycles(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1 << 8; /* invariant TSC */
}

static uint64_t cycles(void)
{
	return __builtin_ia32_rdtsc();
}

#else

bool heap_ring_has_cycles(void)
{
	return false;
}

static uint64_t cycles(void)
{
	return 0;
}

#endif

/* Of a few attempts the one that was least disturbed. */
static struct heap_moment moment(void)
{
	struct heap_moment best = {0};
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		uint64_t before = cycles();
		uint64_t ns = clock_monotonic_ns();
		uint64_t after = cycles();

		if (after - before < shortest) {
			shortest = after - before;
			best = (struct heap_moment){before + shortest / 2, ns};
		}
	}
	return best;
}

/* Two moments as far apart as this tell how fast it runs. */
#define MOMENTS_NS (100 * NS_PER_MS)

static void look_at_clocks(struct heap_ring *ring)
{
	struct heap_moment now = moment();

	if (now.ns - ring->latter.ns >= MOMENTS_NS)
		ring->former = ring->latter;
	ring->latter = now;
}

static uint64_t time_ns_of(const struct heap_ring *ring, uint64_t time)
{
	const struct heap_moment *former = &ring->former, *latter = &ring->latter;
	double ns_per_cycle;

	if (!ring->shared->has_cycles)
		return time;
	if (latter->cycles <= former->cycles)
		return latter->ns;
	ns_per_cycle =
		(double)(latter->ns - former->ns) / (double)(latter->cycles - former->cycles);
	return latter->ns +
	       (uint64_t)(int64_t)((double)(int64_t)(time - latter->cycles) * ns_per_cycle);
}

void heap_ring_init(struct heap_ring *ring, struct heap_shared *shared)
{
	*ring = (struct heap_ring){.shared = shared};
	ring->former = moment();
	ring->latter = ring->former;
	ring->tail = ring->next = __atomic_load_n(&shared->tail, __ATOMIC_RELAXED);
}

static struct heap_ring_record *record_at(const struct heap_ring *ring, uint64_t position)
{
	return (struct heap_ring_record *)(void *)&ring->shared->ring[position % HEAP_RING_BYTES];
}

static bool is_committed(const struct heap_ring *ring, uint64_t position)
{
	return __atomic_load_n(&record_at(ring, position)->commit, __ATOMIC_ACQUIRE) ==
	       (position ^ HEAP_COMMIT_KEY);
}

static void release(struct heap_ring *ring, uint64_t position)
{
	ring->tail = ring->next = position;
	__atomic_store_n(&ring->shared->tail, position, __ATOMIC_RELEASE);
}

/* Its length is believed if it is one. */
static bool has_sense(const struct heap_ring_record *found, uint64_t position, uint64_t head)
{
	uint64_t left = HEAP_RING_BYTES - position % HEAP_RING_BYTES;

	if (!found->nr_bytes || found->nr_bytes % HEAP_RECORD_ALIGNMENT || found->nr_bytes > left ||
	    found->nr_bytes > head - position || found->kind >= HEAP_RECORD_KIND_COUNT)
		return false;
	if (found->kind == HEAP_RECORD_SKIP)
		return found->nr_bytes == left;
	return found->nr_bytes >= sizeof(*found) &&
	       found->nr_stack_bytes <= found->nr_bytes - sizeof(*found) &&
	       found->function < HEAP_FUNCTION_COUNT;
}

/* What is at the tail will not come: the next that is whole, or all that is reserved. */
static void skip(struct heap_ring *ring, uint64_t head)
{
	uint64_t position = ring->tail + HEAP_RECORD_ALIGNMENT;

	while (position < head && !is_committed(ring, position))
		position += HEAP_RECORD_ALIGNMENT;
	ring->nr_lost++;
	ring->waiting_since_ns = 0;
	release(ring, position < head ? position : head);
}

/* Copied, as the target may change it at any moment. */
static bool take(struct heap_ring *ring, uint64_t now_ns, struct heap_ring_record *found)
{
	uint64_t head;

	release(ring, ring->next);
	for (;;) {
		head = __atomic_load_n(&ring->shared->head, __ATOMIC_ACQUIRE);
		if (head - ring->tail > HEAP_RING_BYTES || head % HEAP_RECORD_ALIGNMENT) {
			/* Not by our code. */
			ring->nr_lost++;
			release(ring, head & -(uint64_t)HEAP_RECORD_ALIGNMENT);
			return false;
		}
		if (head == ring->tail)
			return false;
		if (!is_committed(ring, ring->tail)) {
			if (!ring->waiting_since_ns)
				ring->waiting_since_ns = now_ns;
			if (now_ns - ring->waiting_since_ns < PATIENCE_NS)
				return false;
			skip(ring, head);
			continue;
		}
		ring->waiting_since_ns = 0;
		memcpy(found, record_at(ring, ring->tail), sizeof(uint64_t) * 2);
		if (found->kind != HEAP_RECORD_SKIP &&
		    HEAP_RING_BYTES - ring->tail % HEAP_RING_BYTES >= sizeof(*found))
			memcpy(found, record_at(ring, ring->tail), sizeof(*found));
		if (!has_sense(found, ring->tail, head)) {
			skip(ring, head);
			continue;
		}
		if (found->kind != HEAP_RECORD_SKIP)
			return true;
		release(ring, ring->tail + found->nr_bytes);
	}
}

bool heap_ring_next(struct heap_ring *ring, uint64_t now_ns, struct heap_record *record)
{
	struct heap_ring_record found = {0};

	if (!take(ring, now_ns, &found))
		return false;
	if (ring->shared->has_cycles && (int64_t)(found.time - ring->latter.cycles) > 0)
		look_at_clocks(ring);
	ring->next = ring->tail + found.nr_bytes;
	*record = (struct heap_record){
		.kind = (enum heap_record_kind)found.kind,
		.function = (enum heap_function)found.function,
		.is_untracked = found.is_untracked != 0,
		.wants_stack = found.kind == HEAP_RECORD_ALLOCATION ||
			       (found.kind == HEAP_RECORD_FREE && ring->shared->frees_have_stacks),
		.pid = found.pid,
		.tid = found.tid,
		.time_ns = time_ns_of(ring, found.time),
		.pointer = found.pointer,
		.size = found.size,
		.old = found.old,
		.was_sampled = found.was_sampled != 0,
		.mean = found.mean,
		.stack_address = found.rsp,
		.nr_stack_bytes = (uint32_t)found.nr_stack_bytes,
		.stack = (const uint8_t *)(record_at(ring, ring->tail) + 1),
	};
	regs_set(&record->regs, RBX, found.rbx);
	regs_set(&record->regs, RBP, found.rbp);
	regs_set(&record->regs, RSP, found.rsp);
	regs_set(&record->regs, R12, found.r12);
	regs_set(&record->regs, R12 + 1, found.r13);
	regs_set(&record->regs, R12 + 2, found.r14);
	regs_set(&record->regs, R12 + 3, found.r15);
	regs_set(&record->regs, RIP, found.rip);
	return true;
}

void heap_ring_totals(const struct heap_ring *ring, struct heap_totals *totals)
{
	const struct heap_shared *shared = ring->shared;

	*totals = (struct heap_totals){
		.nr_dropped = __atomic_load_n(&shared->nr_dropped, __ATOMIC_RELAXED),
		.nr_untracked = __atomic_load_n(&shared->nr_untracked, __ATOMIC_RELAXED),
		.nr_lost = ring->nr_lost,
	};
	for (size_t i = 0; i < HEAP_SLOTS; i++) {
		const struct heap_slot *slot = &shared->slots[i];
		int64_t countdown = __atomic_load_n(&slot->countdown, __ATOMIC_RELAXED);

		totals->allocated_bytes += __atomic_load_n(&slot->given_bytes, __ATOMIC_RELAXED) -
					   (uint64_t)heap_countdown_bytes(countdown);
		totals->nr_allocations += __atomic_load_n(&slot->nr_allocations, __ATOMIC_RELAXED) +
					  heap_countdown_allocations(countdown);
	}
}
