// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/live_blocks.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/index_set.h"
#include "profile/heap.h"

#define FIRST_CAP 256

void live_blocks_release(struct live_blocks *blocks)
{
	free(blocks->rows);
	*blocks = (struct live_blocks){0};
}

static size_t home_of(const struct live_blocks *blocks, uint32_t process, uint64_t address)
{
	return hash_mix(process, address) & (blocks->cap - 1);
}

/* Its place, or the place where it would be added. */
static struct live_block *find(const struct live_blocks *blocks, uint32_t process, uint64_t address)
{
	size_t at = home_of(blocks, process, address);

	while (blocks->rows[at].address &&
	       (blocks->rows[at].address != address || blocks->rows[at].process != process))
		at = (at + 1) & (blocks->cap - 1);
	return &blocks->rows[at];
}

static void grow(struct live_blocks *blocks)
{
	struct live_blocks old = *blocks;

	blocks->cap = old.cap ? 2 * old.cap : FIRST_CAP;
	blocks->rows = xcalloc(blocks->cap, sizeof(*blocks->rows));
	for (size_t i = 0; i < old.cap; i++) {
		if (old.rows[i].address)
			*find(blocks, old.rows[i].process, old.rows[i].address) = old.rows[i];
	}
	free(old.rows);
}

void live_blocks_add(struct live_blocks *blocks, uint32_t process, uint64_t address, uint32_t row)
{
	struct live_block *place;

	if (2 * (blocks->nr + 1) > blocks->cap)
		grow(blocks);
	place = find(blocks, process, address);
	blocks->nr += !place->address;
	*place = (struct live_block){.address = address, .process = process, .row = row};
}

/* Move up later entries that the removed one displaced, so that no search ends too early. */
static void close_gap(struct live_blocks *blocks, size_t gap)
{
	size_t mask = blocks->cap - 1;

	for (size_t at = (gap + 1) & mask; blocks->rows[at].address; at = (at + 1) & mask) {
		size_t home = home_of(blocks, blocks->rows[at].process, blocks->rows[at].address);

		if (((at - home) & mask) < ((at - gap) & mask))
			continue;
		blocks->rows[gap] = blocks->rows[at];
		gap = at;
	}
	blocks->rows[gap].address = 0;
}

bool live_blocks_find(const struct live_blocks *blocks, uint32_t process, uint64_t address,
		      uint32_t *row)
{
	const struct live_block *place = blocks->cap ? find(blocks, process, address) : NULL;

	if (!place || !place->address)
		return false;
	*row = place->row;
	return true;
}

bool live_blocks_remove(struct live_blocks *blocks, uint32_t process, uint64_t address,
			uint32_t *row)
{
	struct live_block *place;

	if (!blocks->cap)
		return false;
	place = find(blocks, process, address);
	if (!place->address)
		return false;
	*row = place->row;
	blocks->nr--;
	close_gap(blocks, (size_t)(place - blocks->rows));
	return true;
}

/* The thread id takes the place of the address. */
void live_blocks_begin_move(struct live_blocks *moving, uint32_t process, pid_t tid, uint32_t row)
{
	live_blocks_add(moving, process, (uint64_t)tid, row);
}

uint32_t live_blocks_end_move(struct live_blocks *moving, uint32_t process, pid_t tid,
			      uint64_t former, bool is_told)
{
	uint32_t row;

	if (!former)
		return 0;
	if (is_told && live_blocks_remove(moving, process, (uint64_t)tid, &row) &&
	    row != LIVE_BLOCKS_NO_ROW)
		return row + 1;
	return FORMER_UNKNOWN;
}
