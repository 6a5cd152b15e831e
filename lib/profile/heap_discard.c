// SPDX-License-Identifier: GPL-2.0-or-later
/* Discards the records of memory before a moment. */
#include "profile/heap_discard.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/profile.h"

void heap_discard_note(struct profile *profile, uint64_t time_ns)
{
	struct profile_heap *heap = &profile->heap;

	heap->discard = (struct heap_discard){.time_ns = max_u64(time_ns, 1),
					      .nr_allocations = heap->nr_allocations,
					      .nr_moments = heap->nr_moments};
}

/* A discarded row is no longer known as a former one; later rows get their new numbers. */
static uint32_t former_behind(uint32_t former, size_t nr)
{
	if (!former || former == FORMER_UNKNOWN)
		return former;
	return former <= nr ? FORMER_UNKNOWN : former - (uint32_t)nr;
}

/* Drop the numbers of the first `nr` rows, which are discarded. Returns how many numbers remain. */
static size_t drop_numbers(uint32_t *rows, size_t nr_rows, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr_rows; i++) {
		if (rows[i] >= nr)
			rows[kept++] = rows[i] - (uint32_t)nr;
	}
	return kept;
}

/* Those of rows that are discarded are none themselves. */
static void drop_parts(struct profile_heap *heap, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < heap->nr_parts; i++) {
		const struct heap_part *part = &heap->parts[i];

		if (part->row >= nr)
			heap->parts[kept++] = (struct heap_part){.row = part->row - (uint32_t)nr,
								 .of = part->of - (uint32_t)nr};
	}
	heap->nr_parts = kept;
}

static void drop_verdicts(struct profile_heap *heap, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < heap->nr_verdicts; i++) {
		struct profile_verdict row = heap->verdicts[i];

		if (row.allocation < nr)
			continue;
		row.allocation -= (uint32_t)nr;
		heap->verdicts[kept++] = row;
	}
	heap->nr_verdicts = kept;
}

static void drop_allocations(struct profile_heap *heap)
{
	size_t nr = heap->discard.nr_allocations;

	heap->nr_allocations -= nr;
	memmove(heap->allocations, heap->allocations + nr,
		heap->nr_allocations * sizeof(*heap->allocations));
	for (size_t i = 0; i < heap->nr_allocations; i++)
		heap->allocations[i].former = former_behind(heap->allocations[i].former, nr);
	heap->nr_freed = drop_numbers(heap->freed, heap->nr_freed, nr);
	heap->nr_searched = drop_numbers(heap->searched, heap->nr_searched, nr);
	drop_parts(heap, nr);
	drop_verdicts(heap, nr);
}

static uint64_t since(uint64_t now, uint64_t then)
{
	return now - min_u64(now, then);
}

/* Did the process live past the discard, so that its later figures include the earlier ones? */
static bool lives_on(const struct profile *profile, const struct profile_heap_moment *moment)
{
	uint64_t end_ns = profile->processes[moment->process].end_ns;

	return !end_ns || end_ns > profile->heap.discard.time_ns;
}

/* The latest discarded moment of each process, by process; the caller frees the array. */
static struct profile_heap_moment *find_bases(const struct profile *profile)
{
	const struct profile_heap *heap = &profile->heap;
	struct profile_heap_moment *bases = xcalloc(profile->nr_processes, sizeof(*bases));

	for (size_t i = 0; i < profile->nr_processes; i++)
		bases[i].process = PROCESS_NONE;
	for (size_t i = 0; i < heap->discard.nr_moments; i++)
		bases[heap->moments[i].process] = heap->moments[i];
	return bases;
}

/* Put them in the places of the last discarded moments. */
static size_t keep_bases(struct profile *profile, const struct profile_heap_moment *bases)
{
	struct profile_heap *heap = &profile->heap;
	size_t end = heap->discard.nr_moments, nr = 0;
	uint64_t at_ns = heap->discard.time_ns;

	if (end < heap->nr_moments)
		at_ns = min_u64(at_ns, heap->moments[end].time_ns);
	for (size_t i = 0; i < profile->nr_processes; i++) {
		struct profile_heap_moment row = bases[i];

		if (row.process == PROCESS_NONE || !lives_on(profile, &row))
			continue;
		row.time_ns = at_ns;
		row.allocated_bytes = row.nr_allocations = 0;
		row.nr_dropped = row.nr_frees_dropped = 0;
		heap->moments[end - ++nr] = row;
	}
	return nr;
}

static void drop_moments(struct profile *profile)
{
	struct profile_heap *heap = &profile->heap;
	struct profile_heap_moment *bases = find_bases(profile);
	size_t nr = heap->discard.nr_moments;

	for (size_t i = nr; i < heap->nr_moments; i++) {
		struct profile_heap_moment *row = &heap->moments[i];
		const struct profile_heap_moment *base = &bases[row->process];

		row->allocated_bytes = since(row->allocated_bytes, base->allocated_bytes);
		row->nr_allocations = since(row->nr_allocations, base->nr_allocations);
		row->nr_dropped = since(row->nr_dropped, base->nr_dropped);
		row->nr_frees_dropped = since(row->nr_frees_dropped, base->nr_frees_dropped);
	}
	nr -= keep_bases(profile, bases);
	heap->nr_moments -= nr;
	memmove(heap->moments, heap->moments + nr, heap->nr_moments * sizeof(*heap->moments));
	free(bases);
}

void heap_discard_apply(struct profile *profile)
{
	struct profile_heap *heap = &profile->heap;

	if (heap->discard.nr_allocations)
		drop_allocations(heap);
	if (heap->discard.nr_moments)
		drop_moments(profile);
	heap->discard.nr_allocations = heap->discard.nr_moments = 0;
}
