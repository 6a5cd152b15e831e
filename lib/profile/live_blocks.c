// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/live_blocks.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/index_set.h"

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

/* Where it is, or would be. */
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

/* What was put behind a place because that was taken moves up, so that no search ends too early. */
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
