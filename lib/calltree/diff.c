// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares the functions of two profiles. */
#include "calltree/diff.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/diff_priv.h"
#include "calltree/flat.h"
#include "calltree/weights.h"

/* Each function of a side in a row of its own. */
static void add_side(struct diff *diff, const struct weights *weights, bool is_new)
{
	struct flat *flat = flat_new(weights, BY_FUNCTION);

	for (size_t i = 0; i < flat->nr; i++) {
		const struct flat_row *from = &flat->rows[i];
		struct diff_row row = {.old_label = DIFF_NO_LABEL, .new_label = DIFF_NO_LABEL};

		struct diff_calls calls = {
			.counted = from->counted, .calls = from->calls, .called = from->called};

		if (is_new) {
			row.new_label = from->label;
			row.new_self = from->self;
			row.new_calls = calls;
		} else {
			row.old_label = from->label;
			row.old_self = from->self;
			row.old_calls = calls;
		}
		ARRAY_GROW(diff->rows, diff->nr, diff->cap);
		diff->rows[diff->nr++] = row;
	}
	flat_free(flat);
}

/* Both shares are in percent of their own totals; amounts are put in percent of the old one. */
static void compare(const struct diff *diff, struct diff_row *row)
{
	const struct tally *old_all = &diff->old_weights->total;
	const struct tally *new_all = &diff->new_weights->total;
	double grown = diff->mode == DIFF_AMOUNTS && old_all->weight > 0
			       ? (double)new_all->weight / (double)old_all->weight
			       : 1;
	double old_half = tally_interval(&row->old_self, old_all);
	double new_half = tally_interval(&row->new_self, new_all) * grown;

	row->change = tally_percent(&row->new_self, new_all) * grown -
		      tally_percent(&row->old_self, old_all);
	row->half = hypot(old_half, new_half);
}

bool diff_row_is_sure(const struct diff_row *row)
{
	return fabs(row->change) > row->half;
}

static int surest_first(const void *a, const void *b)
{
	const struct diff_row *left = a, *right = b;
	bool left_sure = diff_row_is_sure(left), right_sure = diff_row_is_sure(right);
	double left_size = fabs(left->change), right_size = fabs(right->change);

	if (left_sure != right_sure)
		return left_sure ? -1 : 1;
	if (left_size != right_size)
		return left_size > right_size ? -1 : 1;
	if (left->new_label != right->new_label)
		return left->new_label < right->new_label ? -1 : 1;
	return left->old_label < right->old_label ? -1 : left->old_label > right->old_label;
}

struct diff *diff_new(const struct weights *old_weights, const struct weights *new_weights,
		      enum diff_mode mode, struct diff_rename *renames, size_t nr_renames)
{
	struct diff *diff = xcalloc(1, sizeof(*diff));

	diff->old_weights = old_weights;
	diff->new_weights = new_weights;
	diff->mode = mode;
	add_side(diff, old_weights, false);
	add_side(diff, new_weights, true);
	diff_match_rows(diff, renames, nr_renames);
	for (size_t i = 0; i < diff->nr; i++)
		compare(diff, &diff->rows[i]);
	if (diff->nr > 0)
		qsort(diff->rows, diff->nr, sizeof(*diff->rows), surest_first);
	return diff;
}

void diff_free(struct diff *diff)
{
	if (!diff)
		return;
	free(diff->rows);
	free(diff);
}

double diff_total_change(const struct diff *diff)
{
	double old_total = (double)diff->old_weights->total.weight;

	if (old_total <= 0)
		return 0;
	return 100 * ((double)diff->new_weights->total.weight - old_total) / old_total;
}

bool diff_is_none(const struct diff *diff)
{
	for (size_t i = 0; i < diff->nr; i++)
		if (diff->rows[i].old_self.weight != diff->rows[i].new_self.weight ||
		    diff->rows[i].old_self.samples != diff->rows[i].new_self.samples ||
		    diff->rows[i].old_calls.counted != diff->rows[i].new_calls.counted ||
		    diff->rows[i].old_calls.calls != diff->rows[i].new_calls.calls)
			return false;
	return true;
}

bool diff_exceeds(const struct diff *diff, double percent)
{
	if (diff->mode == DIFF_AMOUNTS && diff_total_change(diff) > percent)
		return true;
	for (size_t i = 0; i < diff->nr; i++)
		if (diff->rows[i].change - diff->rows[i].half > percent)
			return true;
	return false;
}
