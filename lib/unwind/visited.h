/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The set of addresses that a search through code has visited. */
#ifndef PROFC_UNWIND_VISITED_H
#define PROFC_UNWIND_VISITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"

/* Bound on one search through code: printf's inner function in musl has 1,100. */
#define INSTRUCTIONS_MAX 6000
#define VISITED_SLOTS	 8192 /* a power of two, above INSTRUCTIONS_MAX */

/* The instructions that a search has reached. Initially all zero. */
struct visited {
	uint64_t slots[VISITED_SLOTS]; /* open addressing by pc; 0 is free */
};

/* Note an instruction; true if it was noted before. At most INSTRUCTIONS_MAX. */
static inline bool visited_before(struct visited *visited, uint64_t pc)
{
	size_t i = hash_u64(pc) % VISITED_SLOTS;

	while (visited->slots[i] && visited->slots[i] != pc)
		i = (i + 1) % VISITED_SLOTS;
	if (visited->slots[i])
		return true;
	visited->slots[i] = pc;
	return false;
}

#endif
