/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_LIVE_BLOCKS_H
#define PROFC_PROFILE_LIVE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* Take it out; false: there is none. */
bool live_blocks_remove(struct live_blocks *blocks, uint32_t process, uint64_t address,
			uint32_t *row);

#endif
