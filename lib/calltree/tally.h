/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_TALLY_H
#define PROFC_CALLTREE_TALLY_H

#include <stdint.h>

#include "profile/profile.h"

/* A sum over samples in one metric, with what its confidence interval needs. */
struct tally {
	uint64_t weight;  /* ns, or a count for METRIC_SAMPLES */
	uint64_t samples; /* observations that carry some of the weight */
	double square;	  /* sum over observations of the square of the weight they estimate */
};

/*
 * Add one sample. period_ns is the recording's sampling period: a thread that
 * stays blocked is known, not estimated, to be where it is (it was not scheduled
 * in meanwhile), so only one period of each blocked observation counts as
 * uncertain. 0: no period is known.
 */
void tally_add_sample(struct tally *tally, const struct sample *sample, enum metric metric,
		      uint64_t period_ns);
void tally_add(struct tally *tally, const struct tally *other);

/* 100 * part / whole; 0 of nothing. */
double tally_percent(const struct tally *part, const struct tally *whole);

/*
 * Half the width of the 95 % confidence interval of that percentage, in
 * percentage points, for the samples as independent looks at the program.
 *
 * With weights w, total T = sum of w, and p the share of the part, the ratio
 * estimator has the variance
 *	V = ((1 - p)^2 * S_in + p^2 * (S - S_in)) / T^2
 * where S is the sum of w^2 over all samples and S_in over those in the part;
 * with equal weights that is the binomial p (1 - p) / n. Wilson's correction with
 * the effective number of samples n = T^2 / S keeps it honest near 0 and 100 %:
 *	half = z * sqrt(V + z^2 / (4 n^2)) / (1 + z^2 / n), z = 1.96.
 * 100 when there is no sample to judge by.
 */
double tally_interval(const struct tally *part, const struct tally *whole);

#endif
