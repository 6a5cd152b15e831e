/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Student's t-distribution. */
#ifndef PROFC_CALLTREE_STUDENT_H
#define PROFC_CALLTREE_STUDENT_H

/*
 * The chance of a value as far from 0 as t, or farther. `freedom` is at least 1, and may be
 * INFINITY for the normal distribution.
 */
double student_tail(double t, double freedom);

/* The value that is exceeded, on both sides of 0 together, with this chance: 0 < tail < 1. */
double student_quantile(double tail, double freedom);

#endif
