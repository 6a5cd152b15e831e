/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_LIVE_BLOCKS_H
#define PROFC_PROFILE_LIVE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/key_map.h"

/*
 * The blocks of memory that are recorded and not freed yet: their rows in the profile, by process
 * and address. Zero-initialised is empty.
 */
struct live_blocks {
	struct key_map rows; /* by serials and addresses */
};

void live_blocks_release(struct live_blocks *blocks);
/* Replaces an entry for the same address: its freeing was not reported. */
void live_blocks_add(struct live_blocks *blocks, uint32_t process, uint64_t address, uint32_t row);
/* Find its row; false: there is none. */
bool live_blocks_find(const struct live_blocks *blocks, uint32_t process, uint64_t address,
		      uint32_t *row);
/* Remove it; false: there is none. */
bool live_blocks_remove(struct live_blocks *blocks, uint32_t process, uint64_t address,
			uint32_t *row);

/* The row of a block that is not recorded. */
#define LIVE_BLOCKS_NO_ROW UINT32_MAX

/*
 * Note in `moving` that a thread has freed the block of `row` by realloc(). A thread has at most
 * one such move: an earlier one is forgotten, since its new block was not recorded.
 */
void live_blocks_begin_move(struct live_blocks *moving, uint32_t process, pid_t tid, uint32_t row);
/*
 * The profile_allocation.former for a block that realloc() made of the one at `former`; 0: it is
 * not from realloc(). `is_told`: that block was recorded, and its freeing reported just before.
 */
uint32_t live_blocks_end_move(struct live_blocks *moving, uint32_t process, pid_t tid,
			      uint64_t former, bool is_told);

#endif
