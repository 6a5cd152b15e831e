/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variances of many rows, of a few runs each, that are told by each other. */
#ifndef PROFC_CALLTREE_MODERATE_H
#define PROFC_CALLTREE_MODERATE_H

#include <stddef.h>

/* Of three runs a variance is hardly known; but rows resemble each other. */
struct moderate_row {
	double variance; /* of its runs, relative to the square of their mean */
	double sampled;	 /* the same as its samples alone would have it */
};

struct moderation {
	double spread;	/* standard deviation beyond samples that half of the rows exceed */
	double freedom; /* with which that is known of any row; may be INFINITY */
};

/*
 * From rows with so many degrees of freedom each: their variances are what samples explain and
 * spread^2, scattered about that as those of Smyth (2004), limma, are about their prior. `nr` >= 2.
 */
struct moderation moderation_of(const struct moderate_row *rows, size_t nr, double freedom);

/* The variance of a row, between its own and that of all. */
double moderated_variance(const struct moderation *moderation, const struct moderate_row *row,
			  double freedom);

#endif
