// SPDX-License-Identifier: GPL-2.0-or-later
/* Follows blocks from one realloc() to the next. */
#include "profile/heap_lives.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"

static bool has_former(const struct profile_allocation *row)
{
	return row->former && row->former != FORMER_UNKNOWN;
}

void heap_lives_init(struct heap_lives *lives, const struct profile *profile)
{
	const struct profile_heap *heap = &profile->heap;
	uint32_t nr = (uint32_t)heap->nr_allocations;

	*lives = (struct heap_lives){.profile = profile};
	lives->first = xcalloc(nr, sizeof(*lives->first));
	lives->last = xcalloc(nr, sizeof(*lives->last));
	/* The former row comes first. */
	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_allocation *row = &heap->allocations[i];

		lives->first[i] = has_former(row) ? lives->first[row->former - 1] : i;
		lives->last[i] = i;
	}
	for (uint32_t i = nr; i-- > 0;) {
		const struct profile_allocation *row = &heap->allocations[i];

		if (has_former(row))
			lives->last[row->former - 1] = lives->last[i];
	}
}

void heap_lives_release(struct heap_lives *lives)
{
	free(lives->first);
	free(lives->last);
	*lives = (struct heap_lives){0};
}

struct heap_life heap_life_of(const struct heap_lives *lives, uint32_t row)
{
	const struct profile_heap *heap = &lives->profile->heap;
	const struct profile_allocation *first = &heap->allocations[lives->first[row]];
	const struct profile_allocation *last = &heap->allocations[lives->last[row]];

	return (struct heap_life){.born_ns = first->time_ns,
				  .died_ns = last->life_ns ? first->time_ns + last->life_ns
							   : last->freed_ns,
				  .is_whole = !first->former && !last->is_moved};
}

uint64_t heap_life_ns(const struct heap_life *life)
{
	return life->died_ns ? life->died_ns - life->born_ns : 0;
}
