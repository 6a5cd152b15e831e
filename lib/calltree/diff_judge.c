// SPDX-License-Identifier: GPL-2.0-or-later
/* Decides which of many changes are sure, so that few of the sure ones are false. */
#include <math.h>

#include "base/alloc.h"
#include "calltree/diff_priv.h"
#include "calltree/student.h"
#include "calltree/values.h"

/* The share of the sure changes that may be false, in the mean. */
#define FALSE_SHARE 0.05

static double chance_of(const struct diff_estimate *estimate)
{
	double chance = 0;

	if (!estimate->is_tested)
		return 1;
	if (estimate->of_samples > 0)
		chance = student_tail(estimate->change / estimate->of_samples, INFINITY);
	if (estimate->of_runs > 0)
		chance = fmax(chance, student_tail(estimate->change / estimate->of_runs,
						   estimate->freedom));
	return estimate->change != 0 ? chance : 1;
}

/*
 * Benjamini and Hochberg (1995): the changes with the k smallest chances are sure, for the largest
 * k whose k-th chance is at most FALSE_SHARE * k / nr_tested. Returns the chance that gives
 * intervals the same share of false ones (Benjamini and Yekutieli 2005).
 */
static double false_chance(const struct diff_estimate *estimates, size_t nr)
{
	cleanup_free double *chances = xcalloc(nr + 1, sizeof(*chances));
	size_t nr_tested = 0, nr_sure = 1;

	for (size_t i = 0; i < nr; i++)
		if (estimates[i].is_tested)
			chances[nr_tested++] = chance_of(&estimates[i]);
	if (nr_tested == 0)
		return FALSE_SHARE;
	values_sort(chances, nr_tested);
	for (size_t k = 1; k <= nr_tested; k++)
		if (chances[k - 1] <= FALSE_SHARE * (double)k / (double)nr_tested)
			nr_sure = k;
	return FALSE_SHARE * (double)nr_sure / (double)nr_tested;
}

/* Degrees of freedom are whole numbers; there are a few hundred runs at most. */
#define NR_QUANTILES 256

struct quantiles {
	double tail;
	double of_normal;
	double of_student[NR_QUANTILES]; /* by degrees of freedom; 0: not asked for yet */
};

static double quantile(struct quantiles *quantiles, double freedom)
{
	size_t index = (size_t)freedom;

	if (freedom >= NR_QUANTILES)
		return quantiles->of_normal;
	if (quantiles->of_student[index] <= 0)
		quantiles->of_student[index] = student_quantile(quantiles->tail, freedom);
	return quantiles->of_student[index];
}

double diff_judge(struct diff_estimate *estimates, size_t nr)
{
	struct quantiles quantiles = {.tail = false_chance(estimates, nr)};

	quantiles.of_normal = student_quantile(quantiles.tail, INFINITY);
	for (size_t i = 0; i < nr; i++) {
		struct diff_estimate *estimate = &estimates[i];

		estimate->half = quantiles.of_normal * estimate->of_samples;
		if (estimate->of_runs > 0)
			estimate->half =
				fmax(estimate->half,
				     quantile(&quantiles, estimate->freedom) * estimate->of_runs);
		/* Too few samples: no change is sure. */
		if (!estimate->is_tested)
			estimate->half = fmax(estimate->half, fabs(estimate->change));
	}
	return quantiles.of_normal;
}
