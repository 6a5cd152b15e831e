// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/values.h"

#include <stdlib.h>

double values_mean(const double *values, size_t nr)
{
	double sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += values[i];
	return sum / (double)nr;
}

double values_squares(const double *values, size_t nr)
{
	double mean = values_mean(values, nr), sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return sum;
}

static int smaller_first(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

void values_sort(double *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), smaller_first);
}

double values_median(double *values, size_t nr)
{
	values_sort(values, nr);
	return (values[(nr - 1) / 2] + values[nr / 2]) / 2;
}
