/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STORE_BOUNDS_PRIV_H
#define PROFC_STORE_BOUNDS_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/heap.h"
#include "profile/probes.h"

struct profile_allocation;
struct profile_heap_moment;
struct profile_search;
struct sample;

/*
 * Bounds on the contents of a file (man/profc-data.5, BOUNDS). Readers enforce them, so that no sum
 * over samples overflows; a writer fails rather than write a file that no reader takes.
 */
#define TIME_MAX_NS	    (UINT64_C(1) << 62)
#define WEIGHT_TOTAL_MAX_NS (UINT64_C(1) << 61)
#define CALLS_TOTAL_MAX	    COUNTED_CALLS_MAX
#define MEMORY_TOTAL_MAX    HEAP_TOTAL_MAX
#define COUNTERS_MAX	    501

/* The samples of a file so far. */
struct sample_sums {
	uint64_t weight_ns; /* all three weights */
	uint64_t nr_observations;
};

/*
 * Add a sample. False when it, or a sum with it, is out of bounds; then the sums are no longer
 * valid.
 */
bool sample_sums_add(struct sample_sums *sums, const struct sample *sample);

/*
 * The memory of a file so far. The amounts that rows represent are at most the sum of their sizes,
 * means and number. Only the last moment of each process counts.
 */
struct heap_sums {
	uint64_t sampled;
	uint64_t allocated_bytes, nr_allocations, resident_bytes;
	uint64_t searched_bytes, stop_ns;
};

/* Add a block. False when it, or the sum, is out of bounds; then the sum is no longer valid. */
bool heap_sums_add(struct heap_sums *sums, const struct profile_allocation *row);
/*
 * Replace the moment of a process by its next. False when a number or a sum would be out of bounds;
 * then the sums are no longer valid.
 */
bool heap_sums_replace(struct heap_sums *sums, const struct profile_heap_moment *before,
		       const struct profile_heap_moment *now);

/* Add a search. False as for blocks. */
bool heap_sums_search(struct heap_sums *sums, const struct profile_search *row);

/*
 * Replace one part of a sum of calls by another. False when the sum would be out of bounds; then it
 * is unchanged.
 */
bool calls_sum_replace(uint64_t *sum, uint64_t before, uint64_t now);

/* Timed calls, begun and ended, and the sum of their lengths. */
struct span_sums {
	uint64_t nr, total_ns;
};

/* False when a sum would be out of bounds; then the sums are no longer valid. */
bool span_sums_add(struct span_sums *sums, uint64_t nr, uint64_t total_ns);

/* Add to the sum of all advances of counters. False as above. */
bool advances_sum_add(uint64_t *sum, uint64_t amount);

#endif
