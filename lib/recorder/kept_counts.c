// SPDX-License-Identifier: GPL-2.0-or-later
#include "recorder/kept_counts.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/profile.h"

void kept_counts_release(struct kept_counts *counts)
{
	free(counts->looks);
	free(counts->rows);
	*counts = (struct kept_counts){0};
}

size_t kept_counts_bytes(const struct kept_counts *counts)
{
	return counts->nr_looks * sizeof(*counts->looks) + counts->nr_rows * sizeof(*counts->rows);
}

void last_counts_release(struct last_counts *last)
{
	free(last->calls);
	*last = (struct last_counts){0};
}

/* Zero for a row that was not there yet. */
static uint64_t calls_of(const struct last_counts *last, size_t row)
{
	return row < last->nr ? last->calls[row] : 0;
}

/* A counter that its process has written to may go back. */
static uint64_t growth_of(const struct last_counts *last, const struct profile_probes *probes,
			  size_t row)
{
	uint64_t calls = probes->counts[row].calls;

	return calls - min_u64(calls, calls_of(last, row));
}

size_t last_counts_bytes(const struct last_counts *last, const struct profile *profile)
{
	const struct profile_probes *probes = &profile->probes;
	size_t nr_bytes = probes->nr_counts ? sizeof(struct kept_look) : 0;

	for (size_t i = 0; i < probes->nr_counts; i++)
		nr_bytes += growth_of(last, probes, i) ? sizeof(struct kept_count) : 0;
	return nr_bytes;
}

/* Before there were any rows nothing was counted. */
static uint64_t beginning_of(const struct profile_probes *probes)
{
	uint64_t time_ns = UINT64_MAX;

	for (size_t i = 0; i < probes->nr_counts; i++)
		time_ns = min_u64(time_ns, probes->counts[i].from_ns);
	return time_ns;
}

/* Counts are read together: those of processes that live reach up to that time. */
static uint64_t time_of(const struct profile_probes *probes)
{
	uint64_t time_ns = 0;

	for (size_t i = 0; i < probes->nr_counts; i++)
		time_ns = max_u64(time_ns, probes->counts[i].to_ns);
	return time_ns;
}

static void note(struct last_counts *last, const struct profile_probes *probes)
{
	for (size_t i = 0; i < probes->nr_counts; i++) {
		if (i == last->nr) {
			ARRAY_GROW(last->calls, last->nr, last->cap);
			last->calls[last->nr++] = 0;
		}
		last->calls[i] = max_u64(last->calls[i], probes->counts[i].calls);
	}
}

void last_counts_look(struct last_counts *last, const struct profile *profile,
		      struct kept_counts *counts)
{
	const struct profile_probes *probes = &profile->probes;
	struct kept_look look = {.from_ns = last->nr ? last->time_ns : beginning_of(probes),
				 .to_ns = max_u64(last->time_ns, time_of(probes))};

	if (!probes->nr_counts)
		return;
	for (size_t i = 0; i < probes->nr_counts; i++) {
		uint64_t calls = growth_of(last, probes, i);

		if (!calls)
			continue;
		ARRAY_GROW(counts->rows, counts->nr_rows, counts->cap_rows);
		counts->rows[counts->nr_rows++] =
			(struct kept_count){.calls = calls, .row = (uint32_t)i};
		look.nr++;
	}
	ARRAY_GROW(counts->looks, counts->nr_looks, counts->cap_looks);
	counts->looks[counts->nr_looks++] = look;
	last->time_ns = look.to_ns;
	note(last, probes);
}

void counts_since_begin(struct counts_since *since, uint64_t asked_ns, size_t nr)
{
	*since = (struct counts_since){.asked_ns = asked_ns, .from_ns = UINT64_MAX};
	since->calls = xcalloc(nr, sizeof(*since->calls));
}

void counts_since_add(struct counts_since *since, const struct kept_counts *counts)
{
	const struct kept_count *row = counts->rows;

	for (size_t i = 0; i < counts->nr_looks; i++) {
		const struct kept_look *look = &counts->looks[i];
		const struct kept_count *end = row + look->nr;

		if (look->from_ns < since->asked_ns) {
			row = end;
			continue;
		}
		since->from_ns = min_u64(since->from_ns, look->from_ns);
		for (; row < end; row++)
			since->calls[row->row] += row->calls;
	}
}

void counts_since_release(struct counts_since *since)
{
	free(since->calls);
}
