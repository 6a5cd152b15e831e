// SPDX-License-Identifier: GPL-2.0-or-later
/* Estimates the variance of each row over a few runs, with the help of all other rows. */
#include "calltree/moderate.h"

#include <math.h>

#include "base/alloc.h"
#include "calltree/values.h"

#define NR_BISECTIONS  60
#define MOST_SPREAD    4.0
#define MOST_FREEDOM   1000.0
#define LEAST_ARGUMENT 1e-3

static double expected(const struct moderate_row *row, double spread)
{
	return row->sampled + spread * spread;
}

static double median_ratio(const struct moderate_row *rows, size_t nr, double spread)
{
	cleanup_free double *ratios = xcalloc(nr, sizeof(*ratios));

	for (size_t i = 0; i < nr; i++)
		ratios[i] = rows[i].variance / expected(&rows[i], spread);
	return values_median(ratios, nr);
}

/* The median of chi-square by its degrees of freedom (Wilson and Hilferty). */
static double median_of_chance(double freedom)
{
	return pow(1 - 2 / (9 * freedom), 3);
}

static double spread_of(const struct moderate_row *rows, size_t nr, double freedom)
{
	double low = 0, high = MOST_SPREAD, chance = median_of_chance(freedom);

	if (median_ratio(rows, nr, 0) <= chance)
		return 0;
	for (int i = 0; i < NR_BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (median_ratio(rows, nr, middle) > chance)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* The variance of the logarithm of a gamma variable (DLMF 5.15.8, and 5.15.5 for small ones). */
static double trigamma(double x)
{
	double sum = 0, one, square;

	for (; x < 6; x++)
		sum += 1 / (x * x);
	one = 1 / x;
	square = one * one;
	return sum + one + square / 2 +
	       square * one * (1.0 / 6 - square * (1.0 / 30 - square / 42));
}

static double trigamma_inverse(double value)
{
	double low = LEAST_ARGUMENT, high = MOST_FREEDOM;

	if (value <= trigamma(high))
		return INFINITY;
	for (int i = 0; i < NR_BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (trigamma(middle) > value)
			low = middle;
		else
			high = middle;
	}
	return high;
}

struct moderation moderation_of(const struct moderate_row *rows, size_t nr, double freedom)
{
	struct moderation moderation = {.spread = spread_of(rows, nr, freedom)};
	double sum = 0, squares = 0, variance;
	size_t nr_known = 0;

	for (size_t i = 0; i < nr; i++) {
		double ratio = rows[i].variance / expected(&rows[i], moderation.spread);

		if (ratio <= 0)
			continue;
		sum += log(ratio);
		squares += log(ratio) * log(ratio);
		nr_known++;
	}
	variance = nr_known > 1 ? (squares - sum * sum / (double)nr_known) / (double)(nr_known - 1)
				: 0;
	moderation.freedom = 2 * trigamma_inverse(variance - trigamma(freedom / 2));
	return moderation;
}

double moderated_variance(const struct moderation *moderation, const struct moderate_row *row,
			  double freedom)
{
	double of_all = expected(row, moderation->spread);

	if (isinf(moderation->freedom))
		return of_all;
	return (moderation->freedom * of_all + freedom * row->variance) /
	       (moderation->freedom + freedom);
}
