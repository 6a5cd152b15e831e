// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/live_blocks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/minmax.h"

#define FIRST_GROUPS 8
/* Behind the groups, at first. */
#define SPARE_SLOTS ((size_t)8 * LIVE_GROUP)

void live_blocks_release(struct live_blocks *blocks)
{
	free(blocks->slots);
	*blocks = (struct live_blocks){0};
}

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/*
 * Most of a large table is new when it has grown: its faults take less time, and later its
 * addresses, too, in huge pages.
 */
static void use_huge_pages(const void *table, size_t nr_bytes)
{
	uintptr_t start = ((uintptr_t)table + HUGE_PAGE_BYTES - 1) & -HUGE_PAGE_BYTES;
	uintptr_t end = ((uintptr_t)table + nr_bytes) & -HUGE_PAGE_BYTES;

	/* If the kernel has none, pages stay small. */
	if (end > start)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
}

static void resize(struct live_blocks *blocks, size_t nr_slots)
{
	blocks->slots = xrealloc_array(blocks->slots, nr_slots, sizeof(*blocks->slots));
	use_huge_pages(blocks->slots, nr_slots * sizeof(*blocks->slots));
	memset(blocks->slots + blocks->nr_slots, 0,
	       (nr_slots - blocks->nr_slots) * sizeof(*blocks->slots));
	blocks->nr_slots = nr_slots;
}

void live_blocks_lengthen(struct live_blocks *blocks)
{
	resize(blocks, blocks->nr_slots + SPARE_SLOTS);
}

static void put_back(struct live_blocks *blocks, const struct live_slot *moved)
{
	struct live_slot *slot = live_blocks_slot(blocks, moved->process, moved->address);

	*slot = *moved;
	if (slot + 1 == blocks->slots + blocks->nr_slots)
		live_blocks_lengthen(blocks);
}

/*
 * Homes only move towards the end, and keep their order. So run by run of taken slots, from the
 * last one on: what lies before a run is not in its way.
 */
static void rehash(struct live_blocks *blocks, size_t nr_slots)
{
	struct live_slot *run = NULL;
	size_t cap = 0;

	for (size_t end = nr_slots; end; end--) {
		size_t start = end, nr;

		while (start && blocks->slots[start - 1].address)
			start--;
		nr = end - start;
		if (!nr)
			continue;
		ARRAY_RESERVE(run, nr, cap);
		memcpy(run, blocks->slots + start, nr * sizeof(*run));
		memset(blocks->slots + start, 0, nr * sizeof(*run));
		for (size_t i = 0; i < nr; i++)
			put_back(blocks, &run[i]);
		end = start + 1;
	}
	free(run);
}

void live_blocks_grow(struct live_blocks *blocks)
{
	size_t nr_former = blocks->nr_slots;

	/* More at once would leave more of it empty. */
	blocks->nr_groups =
		blocks->nr_groups ? blocks->nr_groups + blocks->nr_groups * 2 / 5 : FIRST_GROUPS;
	blocks->nr_most =
		blocks->nr_groups * LIVE_GROUP * LIVE_FULL_NUMERATOR / LIVE_FULL_DENOMINATOR;
	resize(blocks, max_u64(nr_former, blocks->nr_groups * LIVE_GROUP + SPARE_SLOTS));
	rehash(blocks, nr_former);
}
