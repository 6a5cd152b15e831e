// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums over recorded blocks: the amounts they represent, and the moment of the peak. */
#include "profile/heap_estimate.h"

#include <math.h>
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

/* Do the exact numbers of the scale include the row? Earlier and later ones are not fitted. */
static bool is_covered(const struct heap_scale *scale, const struct profile_allocation *row)
{
	return !row->is_earlier && row->kind != ALLOCATION_MAP && row->time_ns <= scale->until_ns;
}

/* Sums over the covered rows of a process, of bytes or of blocks. */
struct sums {
	double seen;	 /* the rows' own amounts */
	double all;	 /* the amounts they represent */
	double variance; /* of the latter */
	double most;	 /* the largest that one row represents */
};

struct process_sums {
	struct sums bytes, blocks;
	double nr_blocks;
	bool is_sampled;
};

static double nr_blocks(const struct profile_allocation *row)
{
	return 1 + (double)row->nr_more;
}

/* The scale by which a row is fitted; NULL: none. */
static struct heap_scale *scale_of(const struct heap_estimate *estimate,
				   const struct profile_allocation *row, uint32_t *owner)
{
	*owner = estimate->owners[process_of(estimate->profile, row)];
	if (*owner == PROCESS_NONE || !is_covered(&estimate->scales[*owner], row))
		return NULL;
	return &estimate->scales[*owner];
}

static void add_to(struct sums *sums, double seen, double chance)
{
	double all = seen / chance;

	sums->all += all;
	sums->variance += (all - seen) * all;
	sums->most = fmax(sums->most, all);
}

static void find_lost(struct heap_estimate *estimate, struct heap_scale *scale,
		      const struct process_sums *sums, const struct profile_heap_moment *last)
{
	double bytes = (double)last->allocated_bytes - sums->bytes.seen;
	double blocks = (double)last->nr_allocations - sums->nr_blocks;

	if (sums->is_sampled)
		return;
	scale->is_whole = bytes == 0 && blocks == 0;
	estimate->lost_bytes += fmax(bytes, 0);
	estimate->lost_blocks += fmax(blocks, 0);
}

static void find_fit(struct heap_fit *fit, const struct sums *sums, double total)
{
	double slope;

	if (total <= 0 || sums->variance <= 0)
		return;
	slope = (total - sums->all) / sums->variance;
	if (1 + slope * sums->most >= 0)
		fit->slope = slope;
	else
		fit->factor = fmax(total - sums->seen, 0) / (sums->all - sums->seen);
}

static void add_row(struct process_sums *sums, const struct profile_allocation *row)
{
	sums->is_sampled = sums->is_sampled || row->mean_bytes;
	sums->nr_blocks += nr_blocks(row);
	sums->bytes.seen += (double)row->size_bytes;
	sums->blocks.seen += nr_blocks(row);
}

static void find_scales(struct heap_estimate *estimate,
			const struct profile_heap_moment *const *last)
{
	const struct profile *profile = estimate->profile;
	const struct profile_heap *heap = &profile->heap;
	struct process_sums *sums = xcalloc(profile->nr_processes, sizeof(*sums));
	uint32_t owner;

	for (size_t i = 0; i < heap->nr_allocations; i++)
		if (scale_of(estimate, &heap->allocations[i], &owner))
			add_row(&sums[owner], &heap->allocations[i]);
	for (size_t i = 0; i < profile->nr_processes; i++)
		if (last[i] && sums[i].nr_blocks > 0)
			find_lost(estimate, &estimate->scales[i], &sums[i], last[i]);
	for (size_t i = 0; i < heap->nr_allocations; i++) {
		const struct profile_allocation *row = &heap->allocations[i];
		double chance = allocation_chance(row);

		if (!scale_of(estimate, row, &owner))
			continue;
		add_to(&sums[owner].bytes, (double)row->size_bytes, chance);
		add_to(&sums[owner].blocks, nr_blocks(row), chance);
	}
	for (size_t i = 0; i < profile->nr_processes; i++) {
		if (!last[i])
			continue;
		find_fit(&estimate->scales[i].bytes, &sums[i].bytes,
			 (double)last[i]->allocated_bytes);
		find_fit(&estimate->scales[i].blocks, &sums[i].blocks,
			 (double)last[i]->nr_allocations);
	}
	free(sums);
}

/* The variance that exact totals remove, if they cover all rows with estimated numbers. */
static void find_fixed(struct heap_estimate *estimate,
		       const struct profile_heap_moment *const *last)
{
	const struct profile_heap *heap = &estimate->profile->heap;
	double bytes = 0, blocks = 0;
	uint32_t owner;

	for (size_t i = 0; i < heap->nr_allocations; i++) {
		const struct profile_allocation *row = &heap->allocations[i];
		struct heap_weight weight = heap_estimate_weight(estimate, row);

		if (weight.square_bytes + weight.square_blocks > 0 &&
		    (!scale_of(estimate, row, &owner) || !last[owner]->allocated_bytes))
			return;
		bytes += weight.square_bytes;
		blocks += weight.square_blocks;
	}
	estimate->fixed_bytes = bytes;
	estimate->fixed_blocks = blocks;
}

void heap_estimate_init(struct heap_estimate *estimate, const struct profile *profile)
{
	const struct heap_fit as_recorded = {.factor = 1};
	const struct profile_heap_moment **last = last_moments(profile);
	uint32_t *owners = find_owners(profile, last);
	struct heap_scale *scales = xcalloc(profile->nr_processes, sizeof(*scales));

	*estimate = (struct heap_estimate){.profile = profile, .owners = owners, .scales = scales};
	for (size_t i = 0; i < profile->nr_processes; i++)
		scales[i] = (struct heap_scale){.bytes = as_recorded,
						.blocks = as_recorded,
						.is_whole = true,
						.until_ns = last[i] ? last[i]->time_ns : 0};
	find_scales(estimate, last);
	find_fixed(estimate, last);
	free(last);
}

void heap_estimate_release(struct heap_estimate *estimate)
{
	free(estimate->owners);
	free(estimate->scales);
	*estimate = (struct heap_estimate){0};
}

static double fitted(const struct heap_fit *fit, double seen, double chance)
{
	double all = seen / chance;

	return seen + (all - seen) * (fit->factor + fit->slope * all);
}

struct heap_weight heap_estimate_weight(const struct heap_estimate *estimate,
					const struct profile_allocation *row)
{
	static const struct heap_fit as_recorded = {.factor = 1};
	uint32_t owner;
	const struct heap_scale *scale = scale_of(estimate, row, &owner);
	double chance = allocation_chance(row), bytes = (double)row->size_bytes;
	struct heap_weight weight = {
		.bytes = fitted(scale ? &scale->bytes : &as_recorded, bytes, chance),
		.blocks = fitted(scale ? &scale->blocks : &as_recorded, nr_blocks(row), chance)};

	weight.square_bytes = (weight.bytes - bytes) * weight.bytes;
	weight.square_blocks = (weight.blocks - nr_blocks(row)) * weight.blocks;
	weight.exact = !row->mean_bytes && (row->kind == ALLOCATION_MAP || owner == PROCESS_NONE ||
					    estimate->scales[owner].is_whole);
	return weight;
}

double heap_variance(double square, double fixed)
{
	return fixed > 0 ? fmax(square - square * square / fixed, 0) : square;
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

/* The begin or end of a block's life, and its bytes. */
struct turn {
	uint64_t time_ns;
	double bytes;
};

static int by_time(const void *left, const void *right)
{
	const struct turn *a = left;
	const struct turn *b = right;

	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* The earlier of its freeing and the end of its process. */
static uint64_t death_ns(const struct profile *profile, const struct profile_allocation *row)
{
	uint64_t ended_ns = profile->processes[process_of(profile, row)].end_ns;

	return min_u64(row->freed_ns ? row->freed_ns : UINT64_MAX,
		       ended_ns ? ended_ns : UINT64_MAX);
}

/* Of the blocks of these processes, in time order. */
struct turns {
	struct turn *births, *deaths; /* owned */
	size_t nr;
};

static void turns_init(struct turns *turns, const struct heap_estimate *estimate,
		       const bool *processes)
{
	const struct profile *profile = estimate->profile;
	const struct profile_heap *heap = &profile->heap;

	*turns = (struct turns){.births = xcalloc(heap->nr_allocations, sizeof(*turns->births)),
				.deaths = xcalloc(heap->nr_allocations, sizeof(*turns->deaths))};
	for (size_t i = 0; i < heap->nr_allocations; i++) {
		const struct profile_allocation *row = &heap->allocations[i];
		double bytes;

		if (processes && !processes[process_of(profile, row)])
			continue;
		bytes = heap_estimate_weight(estimate, row).bytes;
		turns->births[turns->nr] = (struct turn){row->time_ns, bytes};
		turns->deaths[turns->nr++] = (struct turn){death_ns(profile, row), bytes};
	}
	if (turns->nr)
		qsort(turns->deaths, turns->nr, sizeof(*turns->deaths), by_time);
	if (heap->nr_parts)
		qsort(turns->births, turns->nr, sizeof(*turns->births), by_time);
}

uint64_t heap_peak_ns(const struct heap_estimate *estimate, const bool *processes, double *bytes)
{
	struct turns turns;
	size_t dead = 0;
	double alive = 0, most = 0;
	uint64_t peak_ns = 0;

	turns_init(&turns, estimate, processes);
	for (size_t i = 0; i < turns.nr; i++) {
		const struct turn *birth = &turns.births[i];

		for (; dead < turns.nr && turns.deaths[dead].time_ns <= birth->time_ns; dead++)
			alive -= turns.deaths[dead].bytes;
		/* A block freed at once was subtracted above, with all others freed by now. */
		alive += birth->bytes;
		if (alive > most) {
			most = alive;
			peak_ns = birth->time_ns;
		}
	}
	free(turns.births);
	free(turns.deaths);
	if (bytes)
		*bytes = most;
	return peak_ns;
}
