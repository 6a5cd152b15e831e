/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_MAP_ROWS_H
#define PROFC_PROFILE_MAP_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/heap.h"

/*
 * Mappings each have a row of their own. Rows are in the order of time, so it is made together with
 * those of blocks. Before and after that the mapping has a number, in
 * the order of map_rows_add(). Zero-initialised is empty.
 */
struct map_rows {
	uint32_t *rows; /* owned; of the profile, by number */
	size_t nr_rows, cap_rows;
	struct profile_allocation *pending; /* owned; the first has the number first_pending */
	size_t nr_pending, cap_pending;
	uint32_t first_pending;
};

void map_rows_release(struct map_rows *maps);
/* Returns its number. `former` of the row is such a number, too, from 1 on. */
uint32_t map_rows_add(struct map_rows *maps, const struct profile_allocation *row);
/* Find the row that was made for it; false: it is pending. */
bool map_rows_find(const struct map_rows *maps, uint32_t number, uint32_t *row);
/*
 * Nothing is left of a pending one; is_moved: mremap() has made another mapping of it. Returns its
 * size.
 */
uint64_t map_rows_free_pending(struct map_rows *maps, uint32_t number, uint64_t time_ns,
			       struct thread_id thread, bool is_moved);
/* The next pending mapping has got this row; map_rows_end(): all have, and none is pending. */
void map_rows_made(struct map_rows *maps, uint32_t row);
void map_rows_end(struct map_rows *maps);
/*
 * The rows of the profile were renumbered: `rows` has their new numbers, UINT32_MAX for those that
 * went. Their mappings go as well; the others get new numbers, which are returned, by the former
 * number, and likewise. The caller frees them. None may be pending.
 */
uint32_t *map_rows_renumber(struct map_rows *maps, const uint32_t *rows);
/* The `former` of a pending row as the profile has it, once all earlier rows are made. */
uint32_t map_rows_former(const struct map_rows *maps, uint32_t former);

#endif
