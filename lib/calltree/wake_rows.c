// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/wake_rows.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "profile/profile.h"

/* As far as the times of samples and of notes are known to agree. */
#define SLACK_NS (50 * NS_PER_US)

static int compare(const void *left, const void *right, void *context)
{
	const struct profile_wake *rows = context;
	const struct profile_wake *a = &rows[*(const uint32_t *)left];
	const struct profile_wake *b = &rows[*(const uint32_t *)right];

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->to_ns > b->to_ns) - (a->to_ns < b->to_ns);
}

void wake_rows_init(struct wake_rows *rows, const struct profile *profile)
{
	const struct profile_wakes *wakes = &profile->probes.wakes;

	*rows = (struct wake_rows){.profile = profile};
	rows->at = xcalloc(wakes->nr + 1, sizeof(*rows->at));
	rows->from_ns = xcalloc(wakes->nr + 1, sizeof(*rows->from_ns));
	rows->first = xcalloc(profile->nr_threads + 1, sizeof(*rows->first));
	for (size_t i = 0; i < wakes->nr; i++)
		rows->at[i] = (uint32_t)i;
	if (wakes->nr)
		qsort_r(rows->at, wakes->nr, sizeof(*rows->at), compare, wakes->rows);
	for (size_t i = 0, thread = 0; thread <= profile->nr_threads; thread++) {
		rows->first[thread] = i;
		for (; i < wakes->nr && wakes->rows[rows->at[i]].thread == thread; i++) {
			const struct profile_wake *row = &wakes->rows[rows->at[i]];
			bool is_first = i == rows->first[thread];

			rows->from_ns[i] = is_first ? row->from_ns
						    : max_u64(row->from_ns,
							      wakes->rows[rows->at[i - 1]].to_ns);
		}
	}
}

void wake_rows_release(struct wake_rows *rows)
{
	free(rows->at);
	free(rows->from_ns);
	free(rows->first);
}

static const struct profile_wake *row_at(const struct wake_rows *rows, size_t at)
{
	return &rows->profile->probes.wakes.rows[rows->at[at]];
}

/* The first of a thread that ends at that time or later. */
static size_t ending_from(const struct wake_rows *rows, uint32_t thread, uint64_t time_ns)
{
	size_t low = rows->first[thread], high = rows->first[thread + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (row_at(rows, middle)->to_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t part_of(const struct wake_rows *rows, size_t at, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t begin_ns = max_u64(rows->from_ns[at], from_ns);
	uint64_t end_ns = min_u64(row_at(rows, at)->to_ns, to_ns);

	return end_ns - min_u64(begin_ns, end_ns);
}

/* That has the largest part of a time, which is so long; or NULL. */
static const struct profile_wake *find(const struct wake_rows *rows, uint32_t thread,
				       uint64_t from_ns, uint64_t to_ns, uint64_t *part_ns)
{
	const struct profile_wake *best = NULL;
	size_t end = rows->first[thread + 1];

	*part_ns = 0;
	for (size_t i = ending_from(rows, thread, from_ns); i < end; i++) {
		uint64_t ns = part_of(rows, i, from_ns, to_ns);

		if (rows->from_ns[i] > to_ns)
			break;
		if (ns <= *part_ns && (best || from_ns < to_ns))
			continue;
		*part_ns = ns;
		best = row_at(rows, i);
	}
	return best;
}

const struct profile_wake *wake_rows_find(const struct wake_rows *rows, uint32_t thread,
					  uint64_t from_ns, uint64_t to_ns)
{
	uint64_t part_ns;

	return find(rows, thread, from_ns, to_ns, &part_ns);
}

const struct profile_wake *wake_rows_of(const struct wake_rows *rows, const struct sample *sample)
{
	uint64_t slept_ns = sample->nr ? 0 : min_u64(sample->blocked_ns, sample->time_ns);
	const struct profile_wake *found;
	uint64_t part_ns;

	if (sample->kind != SAMPLE_BLOCKED || !sample->wait ||
	    !wait_is_of_memory(profile_waits(rows->profile)->rows[sample->wait - 1].kind))
		return NULL;
	found = find(rows, sample->thread.v, sample->time_ns - slept_ns, sample->time_ns, &part_ns);
	if (slept_ns)
		return part_ns >= slept_ns - min_u64(slept_ns, part_ns + SLACK_NS) ? found : NULL;
	/* It may have been seen before its note, as far as the clocks agree. */
	return found ? found
		     : find(rows, sample->thread.v, sample->time_ns, sample->time_ns + SLACK_NS,
			    &part_ns);
}
