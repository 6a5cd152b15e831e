/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_LIVE_MAPS_H
#define PROFC_PROFILE_LIVE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/heap_gather.h"

/*
 * The mappings of one process that are recorded and not unmapped yet, by address. Unlike blocks
 * they may be unmapped in parts. Zero-initialised is empty.
 */
struct live_map {
	uint64_t start, end;
	uint32_t number; /* in a heap_gather */
	bool is_cut;	 /* its other parts are unmapped, or have entries of their own */
};

struct live_maps {
	struct live_map *maps; /* owned; by address, without overlaps */
	size_t nr, cap;
};

void live_maps_release(struct live_maps *maps);

/* The memory that a mapping of so many bytes takes: it extends to the end of a page. */
uint64_t live_maps_whole_pages(uint64_t nr_bytes);

/* Called for each mapping of which nothing is left. */
struct live_maps_gone {
	void (*gone)(void *context, uint32_t number);
	void *context;
};

/*
 * Remove a range, with any mappings or parts in it. Returns by how much the number of partly
 * removed mappings has grown; it may be negative.
 */
int live_maps_remove(struct live_maps *maps, uint64_t start, uint64_t end,
		     const struct live_maps_gone *gone);
/* Add a mapping, which replaces those in its range. Returns the result of removing these. */
int live_maps_add(struct live_maps *maps, uint64_t start, uint64_t end, uint32_t number,
		  const struct live_maps_gone *gone);

/* Mappings have new numbers, by the former one; those with UINT32_MAX are known no more. */
void live_maps_renumber(struct live_maps *maps, const uint32_t *numbers);

/* Find the mapping that begins there; false: there is none. */
bool live_maps_find(const struct live_maps *maps, uint64_t start, uint32_t *number);

#define LIVE_MAPS_NONE UINT32_MAX

/* A mapping or unmapping by a thread. */
struct live_maps_change {
	uint64_t address, nr_bytes; /* as requested: it extends to the end of a page */
	const uint32_t *number;	    /* it is mapped, with this number; NULL: it is unmapped */
	struct heap_freed by;	    /* for mappings that end; the address does not matter */
	bool is_move;		    /* mremap() makes another mapping of it */
	uint32_t gone; /* set: the last one that is wholly unmapped; or LIVE_MAPS_NONE */
};

/*
 * Add or remove, and free in `gather` those that are wholly unmapped. Returns the change in the
 * number of partly removed mappings.
 */
int live_maps_apply(struct live_maps *maps, struct heap_gather *gather,
		    struct live_maps_change *change);

#endif
