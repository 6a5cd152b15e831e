// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/live_blocks.h"

#include "profile/heap.h"

void live_blocks_release(struct live_blocks *blocks)
{
	key_map_release(&blocks->rows);
}

void live_blocks_add(struct live_blocks *blocks, uint32_t process, uint64_t address, uint32_t row)
{
	key_map_put(&blocks->rows, process, address, row);
}

bool live_blocks_find(const struct live_blocks *blocks, uint32_t process, uint64_t address,
		      uint32_t *row)
{
	return key_map_find(&blocks->rows, process, address, row);
}

bool live_blocks_remove(struct live_blocks *blocks, uint32_t process, uint64_t address,
			uint32_t *row)
{
	return key_map_take(&blocks->rows, process, address, row);
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
