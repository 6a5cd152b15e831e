// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of several blocks, of which some are freed. */
#include <assert.h>

#include "base/alloc.h"
#include "profile/profile.h"

uint32_t profile_split_allocation(struct profile *profile, uint32_t index, uint32_t nr,
				  uint64_t size_bytes)
{
	struct profile_heap *heap = &profile->heap;
	struct profile_allocation part;
	uint32_t row;

	assert(index < heap->nr_allocations && nr && nr <= heap->allocations[index].nr_more);
	assert(size_bytes <= heap->allocations[index].size_bytes);
	heap->allocations[index].nr_more -= nr;
	heap->allocations[index].size_bytes -= size_bytes;
	if (index < heap->discard.nr_allocations)
		return HEAP_NO_ROW;
	part = heap->allocations[index];
	part.nr_more = nr - 1;
	part.size_bytes = size_bytes;
	row = (uint32_t)heap->nr_allocations;
	ARRAY_GROW(heap->allocations, heap->nr_allocations, heap->cap_allocations);
	heap->allocations[heap->nr_allocations++] = part;
	ARRAY_GROW(heap->parts, heap->nr_parts, heap->cap_parts);
	heap->parts[heap->nr_parts++] = (struct heap_part){.row = row, .of = index};
	return row;
}

void profile_set_mean_life(struct profile *profile, uint32_t index, uint64_t life_ns)
{
	struct profile_allocation *row = &profile->heap.allocations[index];

	assert(index < profile->heap.nr_allocations && row->freed_ns && row->nr_more);
	row->life_ns = life_ns;
}
