// SPDX-License-Identifier: GPL-2.0-or-later
/* Forgets what was recorded of memory long ago. */
#include "profile/heap_forget.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "profile/heap_gather_priv.h"
#include "profile/profile.h"

/* The blocks that go. */
struct over {
	const struct profile *profile;
	uint64_t ended_ns; /* those of processes that ended before, */
	uint64_t freed_ns; /* or that were freed before this, which is no earlier */
};

static bool is_over(const struct over *over, const struct profile_allocation *row)
{
	uint32_t process = over->profile->threads[row->thread.v].process;
	uint64_t ended_ns = over->profile->processes[process].end_ns;

	return (row->freed_ns && row->freed_ns < over->freed_ns) ||
	       (ended_ns && ended_ns < over->ended_ns);
}

static size_t nr_left(const struct over *over)
{
	const struct profile_heap *heap = &over->profile->heap;
	size_t nr = 0;

	for (size_t i = 0; i < heap->nr_allocations; i++)
		nr += !is_over(over, &heap->allocations[i]);
	return nr;
}

/* Blocks that were freed later go as well, so that there are no more than these. */
static void fit(struct over *over, uint64_t now_ns, size_t max_rows)
{
	while (nr_left(over) > max_rows && over->freed_ns < now_ns)
		over->freed_ns = now_ns - over->freed_ns < NS_PER_SEC
					 ? now_ns
					 : over->freed_ns + (now_ns - over->freed_ns) / 2;
}

static uint32_t new_number(const uint32_t *rows, uint32_t row)
{
	return row == NONE ? NONE : rows[row];
}

/* By row: its number from now on; NONE: it goes. The caller frees it. */
static uint32_t *number_rows(struct heap_gather *gather, const struct over *over,
			     size_t nr_too_many, uint64_t *nr_forgotten)
{
	const struct profile_heap *heap = &gather->profile->heap;
	uint32_t *rows = xcalloc(heap->nr_allocations + 1, sizeof(*rows)), nr = 0;

	for (size_t i = 0; i < heap->nr_allocations; i++) {
		const struct profile_allocation *row = &heap->allocations[i];
		bool is_left = !is_over(over, row);

		if (is_left && nr_too_many) {
			nr_too_many--;
			*nr_forgotten += !row->freed_ns;
			is_left = false;
		}
		rows[i] = is_left ? nr++ : NONE;
		if (!is_left && !row->freed_ns && row->kind == ALLOCATION_MAP)
			gather->alive.bytes -= row->size_bytes;
	}
	return rows;
}

static void move_rows(struct profile_heap *heap, const uint32_t *rows)
{
	size_t nr = 0;

	for (size_t i = 0; i < heap->nr_allocations; i++) {
		struct profile_allocation row = heap->allocations[i];

		if (rows[i] == NONE)
			continue;
		if (row.former && row.former != FORMER_UNKNOWN)
			row.former = rows[row.former - 1] == NONE ? FORMER_UNKNOWN
								  : rows[row.former - 1] + 1;
		heap->allocations[nr++] = row;
	}
	heap->nr_allocations = nr;
	heap->nr_freed = 0;
}

static void move_blocks(struct heap_gather *gather, const uint32_t *rows)
{
	struct live_blocks former = gather->alive.places;

	gather->alive.places = (struct live_blocks){0};
	for (size_t i = 0; i < former.nr_slots; i++) {
		struct live_slot slot = former.slots[i];

		if (!slot.address)
			continue;
		slot.block.number = new_number(rows, slot.block.number);
		if (slot.block.number != NONE)
			live_blocks_put(&gather->alive.places, slot.process, slot.address,
					&slot.block, &(struct live_block){0});
	}
	live_blocks_release(&former);
	for (size_t i = 0; i < MOVED_MAX; i++) {
		struct moved *moved = &gather->moved[i];

		if (!moved->is_there)
			continue;
		moved->block.number = new_number(rows, moved->block.number);
		moved->is_there = moved->block.number != NONE;
	}
}

static void forget_moments(struct profile_heap *heap, uint64_t before_ns)
{
	size_t nr = 0;

	while (nr < heap->nr_moments && heap->moments[nr].time_ns < before_ns)
		nr++;
	heap->nr_moments -= nr;
	if (nr)
		memmove(heap->moments, heap->moments + nr,
			heap->nr_moments * sizeof(*heap->moments));
}

uint32_t *heap_gather_forget(struct heap_gather *gather, uint64_t before_ns, uint64_t now_ns,
			     size_t max_rows)
{
	struct profile *profile = gather->profile;
	uint64_t nr_forgotten = profile_counter(profile, "mem_forgotten");
	struct over over = {.profile = profile, .ended_ns = before_ns, .freed_ns = before_ns};
	size_t nr;
	uint32_t *rows, *maps;

	assert(gather->policy == HEAP_ROWS_EACH && !profile->heap.nr_parts);
	fit(&over, now_ns, max_rows);
	nr = nr_left(&over);
	/* Some more than need be, so that this is not to be done again at once. */
	rows = number_rows(gather, &over, nr > max_rows ? nr - max_rows / 4 * 3 : 0, &nr_forgotten);
	move_rows(&profile->heap, rows);
	move_blocks(gather, rows);
	maps = map_rows_renumber(&gather->maps, rows);
	free(rows);
	forget_moments(&profile->heap, before_ns);
	profile->heap.forgotten_ns = max_u64(profile->heap.forgotten_ns, over.freed_ns);
	if (nr_forgotten)
		profile_set_counter(profile, "mem_forgotten", nr_forgotten);
	return maps;
}
