/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_POINTER_SEARCH_H
#define PROFC_PROBE_POINTER_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Looks for pointers to blocks of memory among words. A word that is an address within a block, its
 * first byte or any other, points to it, whatever the word is meant to be; not so one that stands
 * in the block itself.
 */
struct pointer_block {
	uint64_t address, size;
	size_t around; /* the nearest one before it that its first byte lies in, from 1 on; 0: none
			*/
	uint32_t id;   /* the caller's */
	bool is_found; /* there is a pointer to it */
};

struct pointer_search {
	struct pointer_block *blocks; /* borrowed; by address */
	size_t nr;
	uint64_t first, nr_bytes; /* what they are in: to most words it says no at once */
};

/* Sorts the blocks, which may lie within each other; address, size and id are the caller's. */
void pointer_search_init(struct pointer_search *search, struct pointer_block *blocks, size_t nr);
/* Words that stand at this address; 0: in a register. */
void pointer_search_words(struct pointer_search *search, uint64_t address, const uint64_t *words,
			  size_t nr);

#endif
