/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of growth between two profiles, or between several runs and several others. */
#ifndef PROFC_CALLTREE_DIFF_LIMITS_H
#define PROFC_CALLTREE_DIFF_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/metric.h"

struct buf;
struct diff;
struct diff_request;
struct err;

struct diff_limit {
	bool of_calls; /* a limit of exact counts of calls; else of the metric */
	enum metric metric;
	double percent;
};

#define DIFF_LIMITS_MAX 16

struct diff_limits_list {
	struct diff_limit at[DIFF_LIMITS_MAX];
	size_t nr;
};

/*
 * Parse "5", "5%" or "calls=0.1%,alloc=1%,cpu=5%": a number alone limits the metric `standard`.
 * ERR_INVALID for anything else.
 */
int diff_limits_parse(const char *text, enum metric standard, struct diff_limits_list *list,
		      struct err *err);

/*
 * Has a row of a comparison surely grown by more than the limit, in percent of the old total? With
 * DIFF_AMOUNTS, or has the total? Appends the reason to `why`.
 */
bool diff_exceeds(const struct diff *diff, const struct diff_limit *limit, struct buf *why);

/*
 * Was a limit exceeded? A limit of a metric is judged by diff_exceeds(), a limit of calls by the
 * functions that were counted on both sides. The request is that of the comparison; its metric does
 * not matter. Appends the reason to `why`. Returns 1, 0, or ERR_NOT_FOUND if a run lacks the
 * limited metric or counts.
 */
int diff_limit_exceeded(const struct diff_request *request, const struct diff_limit *limit,
			struct buf *why, struct err *err);

#endif
