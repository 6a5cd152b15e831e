/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heading above a view, and the notes below it. */
#ifndef PROFC_VIEW_SUMMARY_H
#define PROFC_VIEW_SUMMARY_H

#include <stdbool.h>

#include "profile/profile.h"
#include "view/style.h"

struct buf;
struct sink;
struct weights;

/* One line above every view: how much of what, in how many samples, of which command. */
void summary_print_heading(const struct weights *weights, const struct view *view,
			   struct sink *sink);

/*
 * The notes below a view: whether many looks were missed, and what part of the time has no
 * stack, a broken stack or no names, and why, each only where it is more than 1 % of the total.
 */
void summary_print_notes(const struct weights *weights, const struct view *view, struct sink *sink);

/*
 * "1,420 of 1,500 looks did not take place: the CPUs were too busy", where that is so many that
 * the shares are by far less exact than the rate promises. False, and nothing appended, else.
 */
bool summary_append_missed(struct buf *out, const struct profile *profile);

/* What follows an amount of a metric: " of CPU time", " blocked"; "" for counts. */
const char *summary_metric_words(enum metric metric);

/*
 * Append "800 ms user, 300 ms system", where the CPU time of all processes went, and how much of
 * it is not known. False, and nothing appended, where none is.
 */
bool summary_append_split(struct buf *out, const struct profile *profile);

#endif
