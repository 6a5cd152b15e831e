/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_HEAP_LIVES_H
#define PROFC_PROFILE_HEAP_LIVES_H

#include <stdbool.h>
#include <stdint.h>

struct profile;

/*
 * The life of a block, from its first allocation to its end, whatever realloc() has made of it
 * meanwhile. It is that of each row that it has on its way.
 */
struct heap_life {
	uint64_t born_ns;
	uint64_t died_ns; /* 0: never, as far as is known */
	/*
	 * False: realloc() made it of a block that was not recorded, or one that was not recorded
	 * of it: then it lived longer than from the one moment to the other.
	 */
	bool is_whole;
};

/* The rows of all blocks, put together. */
struct heap_lives {
	const struct profile *profile; /* borrowed */
	uint32_t *first, *last; /* owned: by row of a block, those that it began and ended as */
};

void heap_lives_init(struct heap_lives *lives, const struct profile *profile);
void heap_lives_release(struct heap_lives *lives);
/* The life of the row's block. */
struct heap_life heap_life_of(const struct heap_lives *lives, uint32_t row);
/* So far, in the part that is known. Of one that is not dead 0. */
uint64_t heap_life_ns(const struct heap_life *life);

#endif
