// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/wake_rows.h"

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
	rows->most = xcalloc(wakes->nr + 1, sizeof(*rows->most));
	rows->first = xcalloc(profile->nr_threads + 1, sizeof(*rows->first));
	for (size_t i = 0; i < wakes->nr; i++)
		rows->at[i] = (uint32_t)i;
	if (wakes->nr)
		qsort_r(rows->at, wakes->nr, sizeof(*rows->at), compare, wakes->rows);
	for (size_t i = 0, thread = 0; thread <= profile->nr_threads; thread++) {
		rows->first[thread] = i;
		for (; i < wakes->nr && wakes->rows[rows->at[i]].thread == thread; i++) {
			const struct profile_wake *row = &wakes->rows[rows->at[i]];
			uint64_t before = i > rows->first[thread] ? rows->most[i - 1] : 0;

			rows->most[i] = max_u64(before, row->to_ns - row->from_ns);
		}
	}
}

void wake_rows_release(struct wake_rows *rows)
{
	free(rows->at);
	free(rows->most);
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

const struct profile_wake *wake_rows_find(const struct wake_rows *rows, uint32_t thread,
					  uint64_t from_ns, uint64_t to_ns)
{
	const struct profile_wake *best = NULL;
	uint64_t most = 0, longest;
	size_t end = rows->first[thread + 1];

	if (rows->first[thread] == end)
		return NULL;
	from_ns -= min_u64(from_ns, SLACK_NS);
	to_ns += SLACK_NS;
	longest = rows->most[end - 1];
	for (size_t i = ending_from(rows, thread, from_ns); i < end; i++) {
		const struct profile_wake *row = row_at(rows, i);
		uint64_t begin_ns = max_u64(row->from_ns, from_ns);
		uint64_t end_ns = min_u64(row->to_ns, to_ns);

		/* All that follow begin after the time. */
		if (row->to_ns > to_ns && row->to_ns - to_ns > longest)
			break;
		if (begin_ns > end_ns || (best && end_ns - begin_ns <= most))
			continue;
		most = end_ns - begin_ns;
		best = row;
	}
	return best;
}

const struct profile_wake *wake_rows_of(const struct wake_rows *rows, const struct sample *sample)
{
	uint64_t slept_ns = sample->nr ? 0 : min_u64(sample->blocked_ns, sample->time_ns);

	if (sample->kind != SAMPLE_BLOCKED || !sample->wait ||
	    !wait_is_of_memory(profile_waits(rows->profile)->rows[sample->wait - 1].kind))
		return NULL;
	return wake_rows_find(rows, sample->thread.v, sample->time_ns - slept_ns, sample->time_ns);
}
