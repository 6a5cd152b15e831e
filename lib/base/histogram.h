/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_HISTOGRAM_H
#define PROFC_BASE_HISTOGRAM_H

#include <stdint.h>

/* Durations by size, eight steps an octave: quantiles within 9 %, in constant room. */
#define HISTOGRAM_STEPS 8
#define HISTOGRAM_SLOTS (64 * HISTOGRAM_STEPS)

struct histogram {
	uint64_t nr[HISTOGRAM_SLOTS];
	uint64_t total;
	uint64_t sum;
};

void histogram_add(struct histogram *histogram, uint64_t value);
/* The value that the fraction `share` (0 to 1) of all values does not exceed; 0 when empty. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);

#endif
