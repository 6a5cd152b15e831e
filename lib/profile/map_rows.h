/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_MAP_ROWS_H
#define PROFC_PROFILE_MAP_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/heap.h"

struct profile;

/*
 * Mappings where all blocks are recorded, too: each has a row of its own, which is made when those
 * of the blocks are, as rows are in the order of time. Before that and after it goes by a number,
 * in the order in which they were added. Zero-initialised is empty.
 */
struct map_rows {
	uint32_t *rows; /* owned; of the profile, by number */
	size_t nr_rows, cap_rows;
	struct profile_allocation *pending; /* owned; the first has the number first_pending */
	size_t nr_pending, cap_pending;
	uint32_t first_pending;
};

void map_rows_release(struct map_rows *maps);
/* Returns its number. `former` of the row is a number, too, likewise from 1 on. */
uint32_t map_rows_add(struct map_rows *maps, const struct profile_allocation *row);
/* Nothing is left of it; is_moved: mremap() has made another of it. Returns its size. */
uint64_t map_rows_free(struct map_rows *maps, struct profile *profile, uint32_t number,
		       uint64_t time_ns, struct thread_id thread, bool is_moved);
/* The pending one that is next has got this row; all have, and none is pending any more. */
void map_rows_made(struct map_rows *maps, uint32_t row);
void map_rows_end(struct map_rows *maps);
/* The `former` of a pending row as the profile has it, once all earlier rows are made. */
uint32_t map_rows_former(const struct map_rows *maps, uint32_t former);

#endif
