/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STORE_BOUNDS_PRIV_H
#define PROFC_STORE_BOUNDS_PRIV_H

#include <stdbool.h>
#include <stdint.h>

struct sample;

/*
 * What a file may hold (man/profc-data.5, BOUNDS). Readers enforce it, so that no sum over
 * samples overflows; a writer fails rather than write what no reader takes.
 */
#define TIME_MAX_NS	    (UINT64_C(1) << 62)
#define WEIGHT_TOTAL_MAX_NS (UINT64_C(1) << 61)
#define CALLS_TOTAL_MAX	    (UINT64_C(1) << 61)
#define COUNTERS_MAX	    501

/* The samples of a file so far. */
struct sample_sums {
	uint64_t weight_ns; /* all three weights */
	uint64_t nr_observations;
};

/* Add a sample. False when it, or a sum with it, is out of bounds; the sums are spoilt then. */
bool sample_sums_add(struct sample_sums *sums, const struct sample *sample);

/*
 * Replace one part of a sum of calls by another. False when the sum would be out of bounds; it is
 * as it was then.
 */
bool calls_sum_replace(uint64_t *sum, uint64_t before, uint64_t now);

#endif
