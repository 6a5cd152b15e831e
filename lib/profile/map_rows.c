// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/map_rows.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"

void map_rows_release(struct map_rows *maps)
{
	free(maps->pending);
	free(maps->rows);
	*maps = (struct map_rows){0};
}

uint32_t map_rows_add(struct map_rows *maps, const struct profile_allocation *row)
{
	ARRAY_GROW(maps->pending, maps->nr_pending, maps->cap_pending);
	maps->pending[maps->nr_pending] = *row;
	return maps->first_pending + (uint32_t)maps->nr_pending++;
}

bool map_rows_find(const struct map_rows *maps, uint32_t number, uint32_t *row)
{
	if (number >= maps->first_pending)
		return false;
	*row = maps->rows[number];
	return true;
}

uint64_t map_rows_free_pending(struct map_rows *maps, uint32_t number, uint64_t time_ns,
			       struct thread_id thread, bool is_moved)
{
	struct profile_allocation *row = &maps->pending[number - maps->first_pending];

	row->freed_ns = time_ns ? time_ns : SAMPLE_TIME_GRAIN_NS; /* 0 is: never */
	row->freed_by = thread;
	row->is_moved = is_moved;
	return row->size_bytes;
}

void map_rows_made(struct map_rows *maps, uint32_t row)
{
	ARRAY_GROW(maps->rows, maps->nr_rows, maps->cap_rows);
	maps->rows[maps->nr_rows++] = row;
}

void map_rows_end(struct map_rows *maps)
{
	maps->nr_pending = 0;
	maps->first_pending = (uint32_t)maps->nr_rows;
}

uint32_t *map_rows_renumber(struct map_rows *maps, const uint32_t *rows)
{
	uint32_t *numbers = xcalloc(maps->nr_rows + 1, sizeof(*numbers)), nr = 0;

	assert(!maps->nr_pending);
	for (size_t i = 0; i < maps->nr_rows; i++) {
		uint32_t row = rows[maps->rows[i]];

		numbers[i] = row == UINT32_MAX ? UINT32_MAX : nr;
		if (row != UINT32_MAX)
			maps->rows[nr++] = row;
	}
	maps->nr_rows = maps->first_pending = nr;
	return numbers;
}

uint32_t map_rows_former(const struct map_rows *maps, uint32_t former)
{
	return former && former != FORMER_UNKNOWN ? maps->rows[former - 1] + 1 : former;
}
