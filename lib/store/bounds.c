// SPDX-License-Identifier: GPL-2.0-or-later
/* Bounds on the contents of a file, for readers and writers alike. */
#include "store/bounds_priv.h"

#include "profile/profile.h"

bool sample_sums_add(struct sample_sums *sums, const struct sample *sample)
{
	const uint64_t max = WEIGHT_TOTAL_MAX_NS;

	if (sample->time_ns > TIME_MAX_NS || sample->cpu_ns > max || sample->runq_ns > max ||
	    sample->blocked_ns > max)
		return false;
	/* Four numbers of at most 2^61: their sum cannot overflow. */
	sums->weight_ns += sample->cpu_ns + sample->runq_ns + sample->blocked_ns;
	sums->nr_observations += sample->nr;
	return sums->weight_ns <= max && sums->nr_observations <= max;
}

static bool sum_replace(uint64_t *sum, uint64_t before, uint64_t now, uint64_t max)
{
	uint64_t others = *sum - before;

	if (now > max || others + now > max)
		return false;
	*sum = others + now;
	return true;
}

bool calls_sum_replace(uint64_t *sum, uint64_t before, uint64_t now)
{
	return sum_replace(sum, before, now, CALLS_TOTAL_MAX);
}

bool advances_sum_add(uint64_t *sum, uint64_t amount)
{
	return sum_replace(sum, 0, amount, ADVANCES_SUM_MAX);
}

bool span_sums_add(struct span_sums *sums, uint64_t nr, uint64_t total_ns)
{
	return sum_replace(&sums->nr, 0, nr, 2 * CALLS_TOTAL_MAX) &&
	       sum_replace(&sums->total_ns, 0, total_ns, WEIGHT_TOTAL_MAX_NS);
}

bool heap_sums_add(struct heap_sums *sums, const struct profile_allocation *row)
{
	const uint64_t max = MEMORY_TOTAL_MAX;

	return row->time_ns <= TIME_MAX_NS && row->freed_ns <= TIME_MAX_NS &&
	       sum_replace(&sums->sampled, 0, row->size_bytes, max) &&
	       sum_replace(&sums->sampled, 0, row->mean_bytes, max) &&
	       sum_replace(&sums->sampled, 0, 1 + (uint64_t)row->nr_more, max);
}

static uint64_t resident(const struct profile_heap_moment *moment)
{
	return moment->rss_anon_bytes + moment->rss_file_bytes + moment->rss_shmem_bytes +
	       moment->swap_bytes + moment->heap_mapped_bytes;
}

/* Small enough to add up five of them. */
#define RESIDENT_MAX (MEMORY_TOTAL_MAX / 4)

bool heap_sums_replace(struct heap_sums *sums, const struct profile_heap_moment *before,
		       const struct profile_heap_moment *now)
{
	const uint64_t max = MEMORY_TOTAL_MAX;

	return now->time_ns <= TIME_MAX_NS && now->rss_anon_bytes <= RESIDENT_MAX &&
	       now->rss_file_bytes <= RESIDENT_MAX && now->rss_shmem_bytes <= RESIDENT_MAX &&
	       now->swap_bytes <= RESIDENT_MAX && now->heap_mapped_bytes <= RESIDENT_MAX &&
	       sum_replace(&sums->resident_bytes, resident(before), resident(now), max) &&
	       sum_replace(&sums->allocated_bytes, before->allocated_bytes, now->allocated_bytes,
			   max) &&
	       sum_replace(&sums->nr_allocations, before->nr_allocations, now->nr_allocations,
			   max) &&
	       sum_replace(&sums->nr_allocations, before->nr_dropped, now->nr_dropped, max) &&
	       sum_replace(&sums->nr_allocations, before->nr_frees_dropped, now->nr_frees_dropped,
			   max);
}

bool heap_sums_search(struct heap_sums *sums, const struct profile_search *row)
{
	return row->time_ns <= TIME_MAX_NS &&
	       sum_replace(&sums->stop_ns, 0, row->stop_ns, WEIGHT_TOTAL_MAX_NS) &&
	       sum_replace(&sums->searched_bytes, 0, row->nr_bytes, MEMORY_TOTAL_MAX);
}
