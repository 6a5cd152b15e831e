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
 * One line above every view: the amount, its metric, the number of samples and the command; below
 * it the runs of a merged recording.
 */
void summary_print_heading(const struct weights *weights, const struct view *view,
			   struct sink *sink);

/*
 * The notes below a view: whether many ticks were missed, and which shares of the time have no
 * stack, a truncated stack or no names, with the reasons; only shares above 1% of the total.
 */
void summary_print_notes(const struct weights *weights, const struct view *view, struct sink *sink);

/*
 * "1,420 of 1,500 ticks were missed: the CPUs were too busy", if so many were missed that shares
 * are far less precise than the frequency suggests. Else false, and nothing is appended.
 */
bool summary_append_missed(struct buf *out, const struct profile *profile);

/*
 * "1,420 blocks were lost beside 300 that were recorded", and the consequence, if the loss is not
 * small. Else nothing is appended.
 */
void summary_append_lost_blocks(struct buf *note, const struct profile *profile);

/*
 * "7 frees were not recorded", and the consequence for what is shown as left; nothing for 0. The
 * second function takes the number from the profile.
 */
void summary_append_lost_frees(struct buf *note, uint64_t nr);
void summary_append_unrecorded_frees(struct buf *note, const struct profile *profile);

/*
 * "9 programs were executed meanwhile", and which of their allocations are missing, if there are
 * any. Else nothing is appended.
 */
void summary_append_late_programs(struct buf *note, const struct profile *profile);

/*
 * "1 function could not be watched", and that blocks it freed may be reported as not freed. Else
 * nothing is appended.
 */
void summary_append_unwatched(struct buf *note, const struct profile *profile);

/*
 * Set *err, ERR_EMPTY, to the reason why nothing can be shown: no sample has the metric, or none
 * with it passes the filters. `input` is the user's argument, if any, and `path` is its file.
 */
void summary_explain_nothing(struct err *err, const struct weights *weights, const char *input,
			     const char *path);

/* Append how much more may belong to the metric, and why that is unknown; false: nothing does. */
bool summary_append_unknown(struct buf *out, const struct weights *weights);

/*
 * Append "800 ms user, 300 ms system", the split of the CPU time of all processes, and how much of
 * it is unknown. False, and nothing appended, if all of it is.
 */
bool summary_append_split(struct buf *out, const struct profile *profile);

/*
 * Append the share of CPU time in JIT-compiled code that keeps its calls on a stack of its own,
 * where profc does not see them; nothing if the share is small.
 */
void summary_append_lone_code(struct buf *note, const struct profile *profile);

#endif
