/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_BLOCKS_H
#define PROFC_COLLECTOR_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The blocks of memory that are recorded and not freed yet: their rows in the profile, by process
 * and address. Zero-initialised is empty.
 */
struct block {
	uint64_t address; /* 0: none */
	uint32_t process; /* serial */
	uint32_t row;
};

struct blocks {
	struct block *rows; /* owned */
	size_t nr, cap;	    /* a power of two, or 0; at most half full */
};

void blocks_release(struct blocks *blocks);
/* One that is there already is replaced: that it was freed was not told. */
void blocks_add(struct blocks *blocks, uint32_t process, uint64_t address, uint32_t row);
/* Take it out; false: there is none. */
bool blocks_remove(struct blocks *blocks, uint32_t process, uint64_t address, uint32_t *row);

#endif
