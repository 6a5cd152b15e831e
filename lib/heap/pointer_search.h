/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HEAP_POINTER_SEARCH_H
#define PROFC_HEAP_POINTER_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Finds pointers to blocks in bytes. Any eight bytes, aligned or not, that hold an address within a
 * block count as a pointer to it, unless they are in that block. Two kinds may be pointers, or not:
 * - The address just after a block may be its end, as of a full buffer, or the next block.
 * - An address below 4 GiB that is not aligned may be a packed pointer. But half of its bytes are
 *   zero, and so are the bytes around small integers and after the ends of strings. The heap is
 *   that low where brk(2) extends a program of a fixed address.
 */
struct pointer_block {
	uint64_t address, size;
	size_t around;	 /* the nearest earlier block around its first byte, from 1 on; 0: none */
	uint32_t id;	 /* the caller's */
	bool is_found;	 /* a pointer to it was found, */
	bool is_perhaps; /* or what may be one */
};

struct pointer_search {
	struct pointer_block *blocks; /* borrowed; by address */
	size_t nr;
	uint64_t first,
		nr_bytes; /* a range with all blocks and their ends: most words are outside */
};

/* Sorts the blocks, which may lie within each other; address, size and id are the caller's. */
void pointer_search_init(struct pointer_search *search, struct pointer_block *blocks, size_t nr);
/*
 * Search all words that begin in these nr_bytes; seven more bytes follow. `address` 0: registers.
 */
void pointer_search_bytes(struct pointer_search *search, uint64_t address, const void *bytes,
			  size_t nr_bytes);

#endif
