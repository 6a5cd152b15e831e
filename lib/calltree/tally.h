/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_TALLY_H
#define PROFC_CALLTREE_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/* A sum over samples in one metric, with the sums that its confidence interval needs. */
struct tally {
	uint64_t weight;  /* in the unit of the metric */
	uint64_t samples; /* observations that carry some of the weight */
	double square;	  /* sum over observations of the square of the weight they estimate */
	uint64_t known;	  /* of the weight: facts, not estimates */
	double blocks;	  /* of metrics of memory */
	double joint;	  /* of time: sum of the mean squares of two that tally_join() has joined */
	/*
	 * For a whole in a metric of memory: how much of the variance of all blocks the exact
	 * totals fix (profile/heap_estimate.h); 0: none.
	 */
	double fixed;
	double lost;   /* of such a whole: besides, and of none of its parts, or any (likewise) */
	double system; /* of the weight, where that is CPU time: system time */
	double slack;  /* of elapsed time: may be so much more or less, whatever the samples say */
};

/*
 * A unit that views sum up in any metric: a sample of a thread with its weight in time, or a
 * recorded block with the memory it represents, in the form of a sample without times.
 */
struct observation {
	struct sample sample;
	uint64_t weight;
	uint64_t known; /* of the weight: a fact, not an estimate */
	/* variance of the estimated part, summed over the observations it represents */
	double square;
	double blocks; /* for memory; 0 for time */
	uint32_t row;  /* of profile.heap.allocations; for memory only */
	/* For METRIC_ELAPSED (elapsed.h): how many threads ran, since when, and tally.slack. */
	uint32_t parallelism;
	uint64_t begin_ns;
	double slack;
};

/*
 * Add one sample. A sample of a blocked thread without an observation of its own is known, not
 * estimated: it continues a confirmed sleep, or the thread stayed in the same place. Other time off
 * the CPU belongs to the sleep sampled at its end only by chance. The time after the last sample of
 * a thread that ran counts as an estimate like any other.
 */
void tally_add_sample(struct tally *tally, const struct sample *sample, enum metric metric);
/*
 * Two observations that were added follow each other in a thread. Every part that is asked about
 * has both or neither.
 */
void tally_join(struct tally *tally, const struct sample *before, const struct sample *sample,
		enum metric metric);
/* The amounts that tally_add_sample() would add for a sample. */
void observe_sample(struct observation *observation, const struct sample *sample,
		    enum metric metric);
/* As observe_sample(), for the sample already in the observation. */
void observation_weigh(struct observation *observation, enum metric metric);
void tally_add_observation(struct tally *tally, const struct observation *observation);
void tally_add(struct tally *tally, const struct tally *other);
/* A part of it: `share` of its weight, and as many of its samples, rounded down. */
struct tally tally_scaled(const struct tally *tally, double share);
/* Take away a part of it. */
void tally_subtract(struct tally *tally, const struct tally *part);

/* 100 * part / whole; 0 of nothing. */
double tally_percent(const struct tally *part, const struct tally *whole);

/*
 * Half the width of the 95% confidence interval of that percentage, in percentage points, for
 * samples as independent observations.
 *
 * With weights w, total T = sum of w, S the sum of w^2 over all samples and S_in over
 * those in the part, and p the share of the part, the variance V is the larger of
 *	p (1 - p) S / T^2	and	((1 - p)^2 S_in + p^2 (S - S_in)) / T^2:
 * the binomial one, and that of a ratio, which depends on whether heavy samples are in the part
 * or outside it. It is smaller where threads stay in the part for several ticks: V is multiplied by
 *	(1 - J / S_in) / (1 - p)
 * if that is below 1. J sums up the mean squares of each two samples that follow each other in a
 * thread at the same lines; where a sample is independent of the one before it, J / S_in is at most
 * p. Wilson's correction with the effective number of samples n keeps it honest near 0 and 100%:
 *	half = z * sqrt(V + z^2 / (4 n^2)) / (1 + z^2 / n), z = 1.96.
 * n is T^2 / S, and at most the number of observations times the square of the estimated share of
 * T: time without a stack is no evidence. The result is at least 0.1, but 0 where all is known; 100
 * when there is no sample to judge by.
 *
 * Blocks of memory are recorded with known chances, so only the second variance applies to them,
 * less the part that the exact totals fix. Where all blocks were to be recorded and some were lost,
 * these may all belong to the part, or none: the interval is wider by that. So it is by the slack
 * of elapsed time, or by that of the rest, which it would have to come from.
 */
double tally_interval(const struct tally *part, const struct tally *whole);
/* Likewise, by samples and slack alone: small parts may have less than 0.1. */
double tally_half(const struct tally *part, const struct tally *whole);

/*
 * Half the width of the 95% confidence interval of its system time, in ns: Wilson's, for as many
 * independent samples as its weights are worth.
 */
double tally_system_error(const struct tally *tally);

/* The number of blocks of memory, rounded. */
uint64_t tally_blocks(const struct tally *tally);

/* Is none of the weight an estimate? Of memory: was each block recorded, and none lost? */
bool tally_is_exact(const struct tally *tally);

/*
 * Half the width of the 95% confidence interval of the weight itself, for metrics of memory: z *
 * sqrt(V (1 + z^2 u^2 / (4 S_in))), which for blocks of one size is Wilson's for their number. u is
 * the mean estimate beyond a recorded block. V, S_in less the fixed part, would be too small for
 * few recorded blocks. The result is at least z^2 u / 2, as a part that is nearly all of a known
 * total may lack that much.
 */
double tally_error(const struct tally *part, const struct tally *whole);

#endif
