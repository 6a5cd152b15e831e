// SPDX-License-Identifier: GPL-2.0-or-later
/* Adds up a recording's knowledge about memory. */
#include "profile/heap_survey.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/heap_estimate.h"
#include "profile/profile.h"

static const double z_95 = 1.959964;

/* The first and the last moment of each process; NULL: there is none. */
struct ends {
	const struct profile_heap_moment **first, **last; /* owned; by process */
};

static void find_ends(struct ends *ends, const struct profile *profile)
{
	const struct profile_heap *heap = &profile->heap;

	ends->first = xcalloc(profile->nr_processes, sizeof(*ends->first));
	ends->last = xcalloc(profile->nr_processes, sizeof(*ends->last));
	for (size_t i = 0; i < heap->nr_moments; i++) {
		uint32_t process = heap->moments[i].process;

		if (!ends->first[process])
			ends->first[process] = &heap->moments[i];
		ends->last[process] = &heap->moments[i];
	}
}

/* The bytes estimated beyond those of the rows themselves, and the variance of that. */
struct guess {
	double missed, square;
};

static void add(struct heap_amount *amount, struct guess *guess,
		const struct profile_allocation *row, const struct heap_weight *weight)
{
	amount->bytes += weight->bytes;
	amount->blocks += weight->blocks;
	if (weight->exact)
		return;
	guess->missed += weight->bytes - (double)row->size_bytes;
	guess->square += weight->square_bytes;
}

/*
 * Half of the 95% interval of a part of all blocks. It never vanishes, since blocks like the
 * recorded ones may have been missed, even where the known total fixes the rest (calltree/tally.h).
 */
static double error_of_part(const struct guess *guess, double fixed)
{
	double one = guess->missed > 0 ? guess->square / guess->missed : 0;

	return z_95 * sqrt(fmax(heap_variance(guess->square, fixed), z_95 * z_95 * one * one / 4));
}

static void add_rows(struct heap_survey *survey, const struct heap_estimate *estimate)
{
	const struct profile *profile = estimate->profile;
	uint64_t end_ns = heap_end_ns(profile, NULL);
	struct guess allocated = {0}, live = {0}, peak = {0};

	survey->peak_ns = heap_peak_ns(estimate, NULL, NULL);
	survey->peak_is_least = profile_counter(profile, HEAP_COARSE_TIMES) > 0;
	for (size_t i = 0; i < profile->heap.nr_allocations; i++) {
		const struct profile_allocation *row = &profile->heap.allocations[i];
		struct heap_weight weight = heap_estimate_weight(estimate, row);

		if (!row->is_earlier)
			add(&survey->allocated, &allocated, row, &weight);
		if (heap_is_alive(profile, row, survey->peak_ns, end_ns))
			add(&survey->peak, &peak, row, &weight);
		if (!heap_is_alive(profile, row, HEAP_AT_END, end_ns))
			continue;
		add(&survey->live, &live, row, &weight);
		survey->earlier_bytes += row->is_earlier ? weight.bytes : 0;
		if (row->kind != ALLOCATION_MAP)
			survey->live_heap_bytes += weight.bytes;
	}
	survey->allocated.error_bytes =
		z_95 * sqrt(heap_variance(allocated.square, estimate->fixed_bytes)) +
		estimate->lost_bytes;
	survey->live.error_bytes =
		error_of_part(&live, estimate->fixed_bytes) + estimate->lost_bytes;
	survey->peak.error_bytes =
		error_of_part(&peak, estimate->fixed_bytes) + estimate->lost_bytes;
}

/* If processes know exactly how much they allocated, rows add up to that, and it is exact. */
static void take_exact_totals(struct heap_survey *survey, const struct heap_estimate *estimate,
			      const struct ends *ends)
{
	const struct profile *profile = estimate->profile;
	uint64_t bytes = 0, blocks = 0;
	bool all = true;

	for (size_t i = 0; i < profile->nr_processes; i++) {
		if (!ends->last[i])
			continue;
		bytes += ends->last[i]->allocated_bytes;
		blocks += ends->last[i]->nr_allocations;
		survey->nr_dropped += ends->last[i]->nr_dropped;
		survey->nr_frees_dropped += ends->last[i]->nr_frees_dropped;
	}
	for (size_t i = 0; i < profile->heap.nr_allocations; i++) {
		const struct profile_allocation *row = &profile->heap.allocations[i];
		uint32_t owner = estimate->owners[profile->threads[row->thread.v].process];

		if (row->is_earlier)
			continue;
		if (row->kind == ALLOCATION_MAP) {
			bytes += (uint64_t)allocation_bytes(row);
			blocks += (uint64_t)allocation_blocks(row);
			all = all && !row->mean_bytes;
		} else {
			all = all && owner != PROCESS_NONE && ends->last[owner]->allocated_bytes;
		}
	}
	survey->allocated_is_exact = all && bytes;
	if (survey->allocated_is_exact)
		survey->allocated = (struct heap_amount){(double)bytes, (double)blocks, 0};
}

/* A forked child has its moments with its parent's. */
static void count_late(struct heap_survey *survey, const struct profile *profile,
		       const struct ends *ends)
{
	for (size_t i = 0; i < profile->nr_processes; i++)
		survey->nr_late += ends->last[i] && profile->processes[i].parent != PROCESS_NONE;
}

/* Were there blocks before its first moment that the recording does not know? */
static bool had_unknown_blocks(const struct profile *profile,
			       const struct profile_heap_moment *first)
{
	if (profile->heap.discard.time_ns)
		return first->time_ns <= profile->heap.discard.time_ns;
	return profile->meta.attached && profile->processes[first->process].parent == PROCESS_NONE;
}

static void add_moments(struct heap_survey *survey, const struct profile *profile,
			const struct ends *ends)
{
	uint64_t end_ns = 0;

	for (size_t i = 0; i < profile->nr_processes; i++) {
		uint64_t ended_ns = profile->processes[i].end_ns;

		if (ends->last[i])
			end_ns = max_u64(end_ns, ended_ns ? ended_ns : UINT64_MAX);
	}
	for (size_t i = 0; i < profile->nr_processes; i++) {
		const struct profile_heap_moment *last = ends->last[i];
		const struct profile_process *process = &profile->processes[i];

		if (!last || (process->end_ns && process->end_ns < end_ns))
			continue;
		survey->has_moments = true;
		survey->rss_anon_bytes += last->rss_anon_bytes;
		survey->rss_file_bytes += last->rss_file_bytes;
		survey->rss_shmem_bytes += last->rss_shmem_bytes;
		survey->swap_bytes += last->swap_bytes;
		survey->heap_mapped_bytes += last->heap_mapped_bytes;
		if (!had_unknown_blocks(profile, ends->first[i]))
			continue;
		survey->knows_before = true;
		survey->before_attach_bytes += ends->first[i]->rss_anon_bytes;
	}
}

static uint64_t nr_recorded(const struct profile *profile)
{
	const struct profile_heap *heap = &profile->heap;
	uint64_t nr = 0;

	for (size_t i = 0; i < heap->nr_allocations; i++)
		nr += heap->allocations[i].is_earlier ? 0
						      : 1 + (uint64_t)heap->allocations[i].nr_more;
	return nr;
}

bool heap_survey_has_all(const struct profile *profile)
{
	const struct profile_heap *heap = &profile->heap;
	bool has_blocks = false;

	for (size_t i = 0; i < heap->nr_allocations; i++) {
		if (heap->allocations[i].kind == ALLOCATION_MAP)
			continue;
		if (heap->allocations[i].mean_bytes)
			return false;
		has_blocks = true;
	}
	return has_blocks;
}

struct heap_losses_survey heap_survey_losses(const struct profile *profile)
{
	struct heap_losses_survey losses = {.nr_recorded = nr_recorded(profile)};
	struct ends ends;

	find_ends(&ends, profile);
	for (size_t i = 0; i < profile->nr_processes; i++) {
		losses.nr_dropped += ends.last[i] ? ends.last[i]->nr_dropped : 0;
		losses.nr_frees += ends.last[i] ? ends.last[i]->nr_frees_dropped : 0;
	}
	free(ends.first);
	free(ends.last);
	return losses;
}

static int by_number(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Those of rows that stand for lost ones, too, are larger than the one of the sampling. */
uint64_t heap_survey_mean(const struct profile *profile)
{
	const struct profile_heap *heap = &profile->heap;
	uint64_t *means = xcalloc(heap->nr_allocations + 1, sizeof(*means));
	uint64_t middle;
	size_t nr = 0;

	for (size_t i = 0; i < heap->nr_allocations; i++) {
		if (heap->allocations[i].mean_bytes)
			means[nr++] = heap->allocations[i].mean_bytes;
	}
	qsort(means, nr, sizeof(*means), by_number);
	middle = nr ? means[(nr - 1) / 2] : 0;
	free(means);
	return middle;
}

void heap_survey(struct heap_survey *survey, const struct profile *profile)
{
	struct heap_estimate estimate;
	struct ends ends;

	*survey = (struct heap_survey){.nr_samples = nr_recorded(profile),
				       .mean_bytes = heap_survey_mean(profile)};
	find_ends(&ends, profile);
	heap_estimate_init(&estimate, profile);
	add_rows(survey, &estimate);
	take_exact_totals(survey, &estimate, &ends);
	add_moments(survey, profile, &ends);
	count_late(survey, profile, &ends);
	heap_estimate_release(&estimate);
	free(ends.first);
	free(ends.last);
}
