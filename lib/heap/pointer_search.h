/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HEAP_POINTER_SEARCH_H
#define PROFC_HEAP_POINTER_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Looks for pointers to blocks of memory among bytes. Eight of them, at whatever address, that are
 * an address within a block, its first byte or any other, point to it, whatever they are meant to
 * be; not so those that stand in the block itself. The address just behind it may be meant for it,
 * as the end of a buffer that is full, or for what comes next.
 */
struct pointer_block {
	uint64_t address, size;
	size_t around; /* the nearest one before it that its first byte lies in, from 1 on; 0: none
			*/
	uint32_t id;   /* the caller's */
	bool is_found; /* there is a pointer to it, */
	bool is_ended; /* or just behind it */
};

struct pointer_search {
	struct pointer_block *blocks; /* borrowed; by address */
	size_t nr;
	uint64_t first,
		nr_bytes; /* what they are in, with the ends: to most bytes it says no at once */
};

/* Sorts the blocks, which may lie within each other; address, size and id are the caller's. */
void pointer_search_init(struct pointer_search *search, struct pointer_block *blocks, size_t nr);
/* Those that begin at one of nr_bytes bytes, which seven more follow. `address` 0: of registers. */
void pointer_search_bytes(struct pointer_search *search, uint64_t address, const void *bytes,
			  size_t nr_bytes);

#endif
