/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Means and medians of a few numbers. */
#ifndef PROFC_CALLTREE_VALUES_H
#define PROFC_CALLTREE_VALUES_H

#include <stddef.h>

/* 95% of the values of the standard normal distribution are nearer to 0. */
#define Z_95 1.959964

/* All take at least one value. */
double values_mean(const double *values, size_t nr);
/* The sum of the squares of their distances from the mean. */
double values_squares(const double *values, size_t nr);
/* Sort them in place, the smallest first. */
void values_sort(double *values, size_t nr);
/* The median; sorts the values. */
double values_median(double *values, size_t nr);

#endif
