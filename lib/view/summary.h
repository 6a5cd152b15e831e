/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heading above a view, and the notes below it. */
#ifndef PROFC_VIEW_SUMMARY_H
#define PROFC_VIEW_SUMMARY_H

#include <stdbool.h>

#include "profile/profile.h"
#include "view/style.h"

struct buf;
struct err;
struct sink;
struct weights;

/*
 * One line above every view: how much of what, in how many samples, of which command; of a merged
 * recording its runs below it.
 */
void summary_print_heading(const struct weights *weights, const struct view *view,
			   struct sink *sink);

/*
 * The notes below a view: whether many ticks were missed, and what part of the time has no
 * stack, a broken stack or no names, and why, each only where it is more than 1% of the total.
 */
void summary_print_notes(const struct weights *weights, const struct view *view, struct sink *sink);

/*
 * "1,420 of 1,500 ticks were missed: the CPUs were too busy", if so many were missed that shares
 * are far less precise than the frequency suggests. Else false, and nothing is appended.
 */
bool summary_append_missed(struct buf *out, const struct profile *profile);

/*
 * "1,420 blocks were lost beside 300 that were recorded", and what that means, if so many were
 * that estimates are less certain than they say. Else nothing is appended.
 */
void summary_append_lost_blocks(struct buf *note, const struct profile *profile);

/*
 * "9 programs were executed meanwhile", and what of their allocations is missing, if there are any.
 * Else nothing is appended.
 */
void summary_append_late_programs(struct buf *note, const struct profile *profile);

/*
 * "1 function could not be watched", and what that means for what is not freed: one that frees may
 * be among those. Else nothing is appended.
 */
void summary_append_unwatched(struct buf *note, const struct profile *profile);

/*
 * Say in *err, ERR_EMPTY, why there is nothing to show: there is none of the metric, or none that
 * passes the filters. `input` is what the user has named, if anything, and `path` what that is.
 */
void summary_explain_nothing(struct err *err, const struct weights *weights, const char *input,
			     const char *path);

/* How much more may be of the metric, and why that is not known; false: nothing is. */
bool summary_append_unknown(struct buf *out, const struct weights *weights);

/* What follows an amount of a metric: " of CPU time", " blocked"; "" for counts. */
const char *summary_metric_words(enum metric metric);
/* What there is none of where nothing has a weight: "samples with CPU time". */
const char *summary_none_words(enum metric metric);

/*
 * Append "800 ms user, 300 ms system", the split of the CPU time of all processes, and how much of
 * it is unknown. False, and nothing appended, if all of it is.
 */
bool summary_append_split(struct buf *out, const struct profile *profile);

#endif
