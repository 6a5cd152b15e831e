// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors of differences between runs. */
#include "calltree/welch.h"

#include <assert.h>
#include <math.h>

#include "calltree/student.h"
#include "calltree/values.h"

/* The variance of at least two values. */
static double variance(const double *values, size_t nr)
{
	return values_squares(values, nr) / (double)(nr - 1);
}

struct welch welch_of(const double *a, size_t nr_a, const double *b, size_t nr_b)
{
	double of_a, of_b, sum, freedom;

	assert(nr_a > 0 && nr_b > 0 && nr_a + nr_b > 2);
	of_a = nr_a > 1 ? variance(a, nr_a) : variance(b, nr_b);
	of_b = nr_b > 1 ? variance(b, nr_b) : of_a;
	of_a /= (double)nr_a;
	of_b /= (double)nr_b;
	sum = of_a + of_b;
	if (nr_a == 1 || nr_b == 1 || sum <= 0)
		freedom = (double)(nr_a + nr_b - 2);
	else
		freedom = sum * sum /
			  (of_a * of_a / (double)(nr_a - 1) + of_b * of_b / (double)(nr_b - 1));
	return (struct welch){sqrt(sum), fmax(floor(freedom), 1)};
}

double welch_half(const struct welch *welch)
{
	return student_quantile(0.05, welch->freedom) * welch->error;
}
