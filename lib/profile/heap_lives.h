/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_HEAP_LIVES_H
#define PROFC_PROFILE_HEAP_LIVES_H

#include <stdbool.h>
#include <stdint.h>

struct profile;

/*
 * The life of a block, from its first allocation to its end, across all calls of realloc(). All
 * rows of the block share it.
 */
struct heap_life {
	uint64_t born_ns;
	uint64_t died_ns; /* 0: never, as far as known */
	/*
	 * False: its first or last row is a realloc() with an unrecorded block at the other end, so
	 * it lived longer than from born_ns to died_ns.
	 */
	bool is_whole;
};

/* The lives of all blocks. */
struct heap_lives {
	const struct profile *profile; /* borrowed */
	uint32_t *first, *last;	       /* owned: by row of a block, its first and its last row */
};

void heap_lives_init(struct heap_lives *lives, const struct profile *profile);
void heap_lives_release(struct heap_lives *lives);
/* The life of the row's block. */
struct heap_life heap_life_of(const struct heap_lives *lives, uint32_t row);
/* Its length so far, in the known part. 0 for a block that is not dead. */
uint64_t heap_life_ns(const struct heap_life *life);

#endif
