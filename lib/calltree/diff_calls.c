// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares exact counts and times per call. */
#include "calltree/diff.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/per_call.h"
#include "calltree/weights.h"

static bool per_call(const struct diff_side *side, const struct diff_calls *calls,
		     struct per_call *result)
{
	return calls->counted && per_call_of_total(side->runs[0]->metric, &side->total,
						   &calls->called, calls->calls, result);
}

uint64_t diff_mean_calls(const struct diff_side *side, const struct diff_calls *calls)
{
	return (calls->calls + side->nr / 2) / side->nr;
}

bool diff_old_per_call(const struct diff *diff, const struct diff_row *row, struct per_call *result)
{
	return per_call(&diff->old_side, &row->old_calls, result);
}

bool diff_new_per_call(const struct diff *diff, const struct diff_row *row, struct per_call *result)
{
	return per_call(&diff->new_side, &row->new_calls, result);
}

/* The error of a ratio of two independent estimates, each with its own. */
bool diff_per_call_change(const struct diff *diff, const struct diff_row *row, double *percent,
			  double *half)
{
	struct per_call before, after;
	double ratio;

	if (!diff_old_per_call(diff, row, &before) || !diff_new_per_call(diff, row, &after) ||
	    before.ns <= 0 || after.ns <= 0)
		return false;
	ratio = after.ns / before.ns;
	*percent = 100 * (ratio - 1);
	*half = 100 * ratio * hypot(after.ci_ns / after.ns, before.ci_ns / before.ns);
	return true;
}

bool diff_calls_changed(const struct diff *diff, const struct diff_row *row)
{
	double percent, half;

	if (!row->old_calls.counted || !row->new_calls.counted)
		return false;
	if (diff_mean_calls(&diff->old_side, &row->old_calls) !=
	    diff_mean_calls(&diff->new_side, &row->new_calls))
		return true;
	return diff_per_call_change(diff, row, &percent, &half) && fabs(percent) > half;
}

/* The factor between the numbers of calls, at least 1. */
static double factor_of_calls(const struct diff *diff, const struct diff_row *row)
{
	uint64_t before = diff_mean_calls(&diff->old_side, &row->old_calls);
	uint64_t after = diff_mean_calls(&diff->new_side, &row->new_calls);

	if (before == after)
		return 1;
	if (before == 0 || after == 0)
		return INFINITY;
	return before > after ? (double)before / (double)after : (double)after / (double)before;
}

/* 0 where no change is sure. */
static double change_of_time(const struct diff *diff, const struct diff_row *row)
{
	double percent, half;

	if (!diff_per_call_change(diff, row, &percent, &half) || fabs(percent) <= half)
		return 0;
	return fabs(percent);
}

static int most_changed_first(const void *a, const void *b, void *context)
{
	const struct diff *diff = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	double left_size = factor_of_calls(diff, &diff->rows[left]);
	double right_size = factor_of_calls(diff, &diff->rows[right]);

	if (left_size != right_size)
		return left_size > right_size ? -1 : 1;
	left_size = change_of_time(diff, &diff->rows[left]);
	right_size = change_of_time(diff, &diff->rows[right]);
	if (left_size != right_size)
		return left_size > right_size ? -1 : 1;
	return left < right ? -1 : left > right;
}

size_t diff_counted_rows(const struct diff *diff, uint32_t **rows)
{
	size_t nr = 0;

	*rows = xcalloc(diff->nr, sizeof(**rows));
	for (uint32_t i = 0; i < diff->nr; i++)
		if (diff->rows[i].old_calls.counted && diff->rows[i].new_calls.counted)
			(*rows)[nr++] = i;
	if (nr > 0)
		qsort_r(*rows, nr, sizeof(**rows), most_changed_first, (void *)(uintptr_t)diff);
	return nr;
}
