// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums over recorded blocks: what they stand for, and when most were alive. */
#include "profile/heap_estimate.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/owners.h"
#include "profile/profile.h"

static uint32_t process_of(const struct profile *profile, const struct profile_allocation *row)
{
	return profile->threads[row->thread.v].process;
}

/* The last moments, by process; NULL: there is none. The caller frees it. */
static const struct profile_heap_moment **last_moments(const struct profile *profile)
{
	const struct profile_heap_moment **last = xcalloc(profile->nr_processes, sizeof(*last));

	for (size_t i = 0; i < profile->heap.nr_moments; i++)
		last[profile->heap.moments[i].process] = &profile->heap.moments[i];
	return last;
}

static uint32_t *find_owners(const struct profile *profile,
			     const struct profile_heap_moment *const *last)
{
	bool *has_own = xcalloc(profile->nr_processes, sizeof(*has_own));
	uint32_t *owners;

	for (size_t i = 0; i < profile->nr_processes; i++)
		has_own[i] = last[i] != NULL;
	owners = profile_find_owners(profile, has_own);
	free(has_own);
	return owners;
}

/* Is a row in the exact numbers that the scale was made from? Later ones are known from rows alone.
 */
static bool is_covered(const struct heap_scale *scale, const struct profile_allocation *row)
{
	return row->kind != ALLOCATION_MAP && row->time_ns <= scale->until_ns;
}

/* What rows say of the time up to a process' last moment, for which there are exact numbers. */
static struct heap_scale *sums_until(const struct profile *profile, const uint32_t *owners,
				     const struct profile_heap_moment *const *last)
{
	struct heap_scale *sums = xcalloc(profile->nr_processes, sizeof(*sums));

	for (size_t i = 0; i < profile->nr_processes; i++)
		sums[i].until_ns = last[i] ? last[i]->time_ns : 0;
	for (size_t i = 0; i < profile->heap.nr_allocations; i++) {
		const struct profile_allocation *row = &profile->heap.allocations[i];
		uint32_t owner = owners[process_of(profile, row)];

		if (owner == PROCESS_NONE || !is_covered(&sums[owner], row))
			continue;
		sums[owner].bytes += allocation_bytes(row);
		sums[owner].blocks += allocation_blocks(row);
	}
	return sums;
}

static double ratio(uint64_t exact, double sum)
{
	return exact && sum > 0 ? (double)exact / sum : 1;
}

void heap_estimate_init(struct heap_estimate *estimate, const struct profile *profile)
{
	const struct profile_heap_moment **last = last_moments(profile);
	uint32_t *owners = find_owners(profile, last);
	struct heap_scale *sums = sums_until(profile, owners, last);

	*estimate = (struct heap_estimate){.profile = profile, .owners = owners, .scales = sums};
	for (size_t i = 0; i < profile->nr_processes; i++) {
		sums[i].bytes = ratio(last[i] ? last[i]->allocated_bytes : 0, sums[i].bytes);
		sums[i].blocks = ratio(last[i] ? last[i]->nr_allocations : 0, sums[i].blocks);
	}
	for (size_t i = 0; i < profile->nr_processes; i++) {
		if (owners[i] != PROCESS_NONE)
			sums[i] = sums[owners[i]];
	}
	free(last);
}

void heap_estimate_release(struct heap_estimate *estimate)
{
	free(estimate->owners);
	free(estimate->scales);
	*estimate = (struct heap_estimate){0};
}

struct heap_weight heap_estimate_weight(const struct heap_estimate *estimate,
					const struct profile_allocation *row)
{
	const struct heap_scale *scale = &estimate->scales[process_of(estimate->profile, row)];
	bool is_scaled = is_covered(scale, row);
	bool none_lost = row->kind == ALLOCATION_MAP || (scale->bytes == 1 && scale->blocks == 1);
	double missed = 1 - allocation_chance(row);
	struct heap_weight weight = {
		.bytes = allocation_bytes(row) * (is_scaled ? scale->bytes : 1),
		.blocks = allocation_blocks(row) * (is_scaled ? scale->blocks : 1)};

	weight.square_bytes = missed * weight.bytes * weight.bytes;
	weight.square_blocks = missed * weight.blocks * weight.blocks;
	weight.exact = !row->mean_bytes && none_lost;
	return weight;
}

bool heap_is_alive(const struct profile *profile, const struct profile_allocation *row,
		   uint64_t at_ns, uint64_t end_ns)
{
	uint64_t ended_ns = profile->processes[process_of(profile, row)].end_ns;

	if (at_ns == HEAP_AT_END)
		return !row->freed_ns && (!ended_ns || ended_ns >= end_ns);
	return row->time_ns <= at_ns && (!row->freed_ns || row->freed_ns > at_ns) &&
	       (!ended_ns || ended_ns > at_ns);
}

uint64_t heap_end_ns(const struct profile *profile, const bool *processes)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < profile->heap.nr_allocations; i++) {
		uint32_t process = process_of(profile, &profile->heap.allocations[i]);
		uint64_t end_ns = profile->processes[process].end_ns;

		if (!processes || processes[process])
			last_ns = max_u64(last_ns, end_ns ? end_ns : UINT64_MAX);
	}
	return last_ns;
}

/* When a block was no more, and how many bytes that were. */
struct death {
	uint64_t time_ns;
	double bytes;
};

static int by_time(const void *left, const void *right)
{
	const struct death *a = left;
	const struct death *b = right;

	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* The first of the two that happened: it was freed, or its process ended. */
static uint64_t death_ns(const struct profile *profile, const struct profile_allocation *row)
{
	uint64_t ended_ns = profile->processes[process_of(profile, row)].end_ns;

	return min_u64(row->freed_ns ? row->freed_ns : UINT64_MAX,
		       ended_ns ? ended_ns : UINT64_MAX);
}

/* Of the blocks of these processes, in time order. The caller frees it. */
static struct death *deaths_of(const struct heap_estimate *estimate, const bool *processes,
			       size_t *nr)
{
	const struct profile_heap *heap = &estimate->profile->heap;
	struct death *deaths = xcalloc(heap->nr_allocations, sizeof(*deaths));

	*nr = 0;
	for (size_t i = 0; i < heap->nr_allocations; i++) {
		const struct profile_allocation *row = &heap->allocations[i];

		if (!processes || processes[process_of(estimate->profile, row)])
			deaths[(*nr)++] = (struct death){death_ns(estimate->profile, row),
							 heap_estimate_weight(estimate, row).bytes};
	}
	if (*nr)
		qsort(deaths, *nr, sizeof(*deaths), by_time);
	return deaths;
}

uint64_t heap_peak_ns(const struct heap_estimate *estimate, const bool *processes, double *bytes)
{
	const struct profile_heap *heap = &estimate->profile->heap;
	size_t nr_deaths, dead = 0;
	struct death *deaths = deaths_of(estimate, processes, &nr_deaths);
	double alive = 0, most = 0;
	uint64_t peak_ns = 0;

	for (size_t i = 0; i < heap->nr_allocations; i++) {
		const struct profile_allocation *row = &heap->allocations[i];

		if (processes && !processes[process_of(estimate->profile, row)])
			continue;
		for (; dead < nr_deaths && deaths[dead].time_ns <= row->time_ns; dead++)
			alive -= deaths[dead].bytes;
		/* One that is gone at once was taken away already, as all that is gone by now. */
		alive += heap_estimate_weight(estimate, row).bytes;
		if (alive > most) {
			most = alive;
			peak_ns = row->time_ns;
		}
	}
	free(deaths);
	if (bytes)
		*bytes = most;
	return peak_ns;
}
