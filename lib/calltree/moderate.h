/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates the variance of each row over a few runs, with the help of all other rows. */
#ifndef PROFC_CALLTREE_MODERATE_H
#define PROFC_CALLTREE_MODERATE_H

#include <stddef.h>

/* A row. Three runs hardly show its variance; but rows resemble each other. */
struct moderate_row {
	double variance; /* of its runs, relative to the square of their mean */
	double sampled;	 /* the variance that its samples alone explain */
};

struct moderation {
	double spread;	/* standard deviation beyond samples; half of the rows exceed it */
	double freedom; /* the degrees of freedom of `spread` for any row; may be INFINITY */
};

/*
 * Estimate it from at least two rows, with so many degrees of freedom each. The variance of a row
 * is expected to be `sampled` + spread^2, and scatters about that like the variances of Smyth
 * (2004), limma, about their prior.
 */
struct moderation moderation_of(const struct moderate_row *rows, size_t nr, double freedom);

/* The variance of a row: a mean of its own and of that expected from all rows. */
double moderated_variance(const struct moderation *moderation, const struct moderate_row *row,
			  double freedom);

#endif
