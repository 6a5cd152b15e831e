/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_WELCH_H
#define PROFC_CALLTREE_WELCH_H

#include <stddef.h>

/* The standard error of an estimate, and the degrees of freedom of that error. */
struct welch {
	double error, freedom;
};

/*
 * The error of the difference of two means, from the values of runs, of which one side at least has
 * several: Welch's t-test, with the degrees of freedom rounded down. A side with a single run is
 * assumed to vary like the other side.
 */
struct welch welch_of(const double *a, size_t nr_a, const double *b, size_t nr_b);
/* Half the width of its 95% confidence interval. */
double welch_half(const struct welch *welch);

#endif
