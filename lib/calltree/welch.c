// SPDX-License-Identifier: GPL-2.0-or-later
/* Confidence intervals of differences between runs. */
#include "calltree/welch.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"

/* The 97.5% quantiles of Student's t, by degrees of freedom from 1 on. */
static const double quantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
				   2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
				   2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
				   2.060,  2.056, 2.052, 2.048, 2.045, 2.042};

static double quantile(double freedom)
{
	static const double z = 1.959964;

	if (freedom < 1)
		return quantiles[0];
	if ((size_t)freedom <= ARRAY_SIZE(quantiles))
		return quantiles[(size_t)freedom - 1];
	/* Cornish and Fisher's expansion: from here on exact to three digits. */
	return z + (z * z * z + z) / (4 * floor(freedom));
}

/* The variance of at least two values. */
static double variance(const double *values, size_t nr)
{
	double mean = 0, sum = 0;

	for (size_t i = 0; i < nr; i++)
		mean += values[i] / (double)nr;
	for (size_t i = 0; i < nr; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return sum / (double)(nr - 1);
}

double welch_half(const double *a, size_t nr_a, const double *b, size_t nr_b)
{
	double of_a, of_b, sum, freedom;

	assert(nr_a > 0 && nr_b > 0 && nr_a + nr_b > 2);
	of_a = nr_a > 1 ? variance(a, nr_a) : variance(b, nr_b);
	of_b = nr_b > 1 ? variance(b, nr_b) : of_a;
	of_a /= (double)nr_a;
	of_b /= (double)nr_b;
	sum = of_a + of_b;
	if (sum <= 0)
		return 0;
	if (nr_a == 1 || nr_b == 1)
		freedom = (double)(nr_a + nr_b - 2);
	else
		freedom = sum * sum /
			  (of_a * of_a / (double)(nr_a - 1) + of_b * of_b / (double)(nr_b - 1));
	return quantile(freedom) * sqrt(sum);
}
