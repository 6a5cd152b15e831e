/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_LIVE_BLOCKS_H
#define PROFC_PROFILE_LIVE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The blocks of memory that are recorded and not freed yet: their rows in the profile, by process
 * and address. Zero-initialised is empty.
 */
struct live_block {
	uint64_t address; /* 0: none */
	uint32_t process; /* serial */
	uint32_t row;
};

struct live_blocks {
	struct live_block *rows; /* owned */
	size_t nr, cap;		 /* a power of two, or 0; at most half full */
};

void live_blocks_release(struct live_blocks *blocks);
/* One that is there already is replaced: that it was freed was not told. */
void live_blocks_add(struct live_blocks *blocks, uint32_t process, uint64_t address, uint32_t row);
/* Its row; false: there is none. */
bool live_blocks_find(const struct live_blocks *blocks, uint32_t process, uint64_t address,
		      uint32_t *row);
/* Take it out; false: there is none. */
bool live_blocks_remove(struct live_blocks *blocks, uint32_t process, uint64_t address,
			uint32_t *row);

/* One that is not recorded. */
#define LIVE_BLOCKS_NO_ROW UINT32_MAX

/*
 * A thread has freed a block by realloc(): the row of a move that goes on, in a table of these. It
 * has one at most: one is forgotten whose new block was not recorded.
 */
void live_blocks_begin_move(struct live_blocks *moving, uint32_t process, pid_t tid, uint32_t row);
/*
 * What becomes profile_allocation.former of a block that realloc() made of the one at `former`; 0:
 * it did not. `is_told`: that was a recorded one, whose freeing was told just before.
 */
uint32_t live_blocks_end_move(struct live_blocks *moving, uint32_t process, pid_t tid,
			      uint64_t former, bool is_told);

#endif
