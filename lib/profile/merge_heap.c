// SPDX-License-Identifier: GPL-2.0-or-later
/* Merges the memory of recordings. */
#include "profile/merge_heap.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"
#include "profile/renumber.h"

static void take_allocations(struct heap_merge *merge, const struct profile_heap *from,
			     const struct renumbering *map)
{
	uint32_t first = (uint32_t)merge->nr_allocations;

	for (size_t i = 0; i < from->nr_allocations; i++) {
		struct profile_allocation row = from->allocations[i];

		renumber(map, RECORD_ALLOCATIONS, &row);
		if (row.former && row.former != FORMER_UNKNOWN)
			row.former += first;
		ARRAY_GROW(merge->allocations, merge->nr_allocations, merge->cap_allocations);
		merge->allocations[merge->nr_allocations++] = row;
	}
}

/* The last moment of a process of the result; initially all 0. */
static struct profile_heap_moment *last_of(struct heap_merge *merge, uint32_t process)
{
	while (merge->nr_last <= process) {
		ARRAY_GROW(merge->last, merge->nr_last, merge->cap_last);
		merge->last[merge->nr_last++] = (struct profile_heap_moment){0};
	}
	return &merge->last[process];
}

static void take_moments(struct heap_merge *merge, const struct profile *from,
			 const struct renumbering *map)
{
	struct profile_heap_moment *bases = xcalloc(from->nr_processes, sizeof(*bases));

	for (size_t i = 0; i < from->nr_processes; i++)
		bases[i] = *last_of(merge, map->rows[RECORD_PROCESSES][i]);
	for (size_t i = 0; i < from->heap.nr_moments; i++) {
		struct profile_heap_moment row = from->heap.moments[i];
		const struct profile_heap_moment *base = &bases[row.process];

		renumber(map, RECORD_MOMENTS, &row);
		row.allocated_bytes += base->allocated_bytes;
		row.nr_allocations += base->nr_allocations;
		row.nr_dropped += base->nr_dropped;
		row.nr_frees_dropped += base->nr_frees_dropped;
		*last_of(merge, row.process) = row;
		ARRAY_GROW(merge->moments, merge->nr_moments, merge->cap_moments);
		merge->moments[merge->nr_moments++] = row;
	}
	free(bases);
}

/* Gather verdicts; called before the rows that they refer to are added. */
static void take_verdicts(struct heap_merge *merge, const struct profile_heap *from)
{
	for (size_t i = 0; i < from->nr_verdicts; i++) {
		struct profile_verdict row = from->verdicts[i];

		row.search += (uint32_t)merge->nr_searches;
		row.allocation += (uint32_t)merge->nr_allocations;
		ARRAY_GROW(merge->verdicts, merge->nr_verdicts, merge->cap_verdicts);
		merge->verdicts[merge->nr_verdicts++] = row;
	}
}

static void take_searches(struct heap_merge *merge, const struct profile_heap *from,
			  const struct renumbering *map)
{
	for (size_t i = 0; i < from->nr_searches; i++) {
		struct profile_search row = from->searches[i];

		renumber(map, RECORD_SEARCHES, &row);
		ARRAY_GROW(merge->searches, merge->nr_searches, merge->cap_searches);
		merge->searches[merge->nr_searches++] = row;
	}
}

void heap_merge_take(struct heap_merge *merge, const struct profile *from,
		     const struct renumbering *map)
{
	uint64_t discarded_ns = from->heap.discard.time_ns + map->offset_ns;

	if (from->heap.discard.time_ns &&
	    (!merge->discarded_ns || discarded_ns < merge->discarded_ns))
		merge->discarded_ns = discarded_ns;
	take_verdicts(merge, &from->heap);
	take_allocations(merge, &from->heap, map);
	take_moments(merge, from, map);
	take_searches(merge, &from->heap, map);
}

/*
 * At equal times earlier profiles come first, in the order of addresses: all rows are in one array.
 */
static int by_time(const void *left, const void *right)
{
	const struct profile_allocation *a = *(const struct profile_allocation *const *)left;
	const struct profile_allocation *b = *(const struct profile_allocation *const *)right;

	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? 1 : -1;
	return (a > b) - (a < b);
}

static int moments_by_time(const void *left, const void *right)
{
	const struct profile_heap_moment *a = *(const struct profile_heap_moment *const *)left;
	const struct profile_heap_moment *b = *(const struct profile_heap_moment *const *)right;

	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? 1 : -1;
	return (a > b) - (a < b);
}

static void add_searches(const struct heap_merge *merge, const uint32_t *places,
			 struct profile *into)
{
	for (size_t i = 0; i < merge->nr_searches; i++)
		profile_add_search(into, &merge->searches[i]);
	for (size_t i = 0; i < merge->nr_verdicts; i++) {
		struct profile_verdict row = merge->verdicts[i];

		row.allocation = places[row.allocation];
		profile_add_verdict(into, &row);
	}
}

static void add_blocks(struct heap_merge *merge, struct profile *into)
{
	size_t nr = merge->nr_allocations;
	struct profile_allocation **rows = xcalloc(nr, sizeof(*rows));
	/* by gathered row: its row in the result */
	uint32_t *places = xcalloc(nr, sizeof(*places));

	for (size_t i = 0; i < nr; i++)
		rows[i] = &merge->allocations[i];
	if (nr)
		qsort(rows, nr, sizeof(*rows), by_time);
	for (size_t i = 0; i < nr; i++) {
		struct profile_allocation *row = rows[i];

		/*
		 * Rows of one profile keep their order, so the former row has its new place
		 * already.
		 */
		if (row->former && row->former != FORMER_UNKNOWN)
			row->former = places[row->former - 1] + 1;
		places[row - merge->allocations] = profile_add_allocation(into, row);
	}
	add_searches(merge, places, into);
	free(places);
	free(rows);
}

static void add_moments(const struct heap_merge *merge, struct profile *into)
{
	size_t nr = merge->nr_moments;
	const struct profile_heap_moment **rows = xcalloc(nr, sizeof(*rows));

	for (size_t i = 0; i < nr; i++)
		rows[i] = &merge->moments[i];
	if (nr)
		qsort(rows, nr, sizeof(*rows), moments_by_time);
	for (size_t i = 0; i < nr; i++)
		profile_add_heap_moment(into, rows[i]);
	free(rows);
}

void heap_merge_finish(struct heap_merge *merge, struct profile *into)
{
	add_blocks(merge, into);
	add_moments(merge, into);
	free(merge->searches);
	free(merge->verdicts);
	into->heap.discard.time_ns = merge->discarded_ns;
	free(merge->allocations);
	free(merge->moments);
	free(merge->last);
	*merge = (struct heap_merge){0};
}
