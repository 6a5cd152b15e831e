// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares two profiles, or several runs with several others. */
#include "calltree/diff.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/diff_priv.h"
#include "calltree/weights.h"

static const struct diff_at nowhere = {.row = DIFF_NONE, .label = DIFF_NONE};

/* Each row of a run by itself. */
static void add_run(struct diff *diff, uint32_t run)
{
	const struct flat *flat = diff->flats[run];
	bool is_old = run < diff->old_side.nr;

	for (uint32_t i = 0; i < flat->nr; i++) {
		const struct flat_row *from = &flat->rows[i];
		struct diff_at at = {.run = run, .row = i, .label = from->label};
		struct diff_calls calls = {
			.counted = from->counted, .calls = from->calls, .called = from->called};
		struct diff_row row = {.old_at = nowhere, .new_at = nowhere};

		row.values = (uint32_t)diff->nr;
		*(is_old ? &row.old_at : &row.new_at) = at;
		*(is_old ? &row.old_self : &row.new_self) = from->self;
		*(is_old ? &row.old_calls : &row.new_calls) = calls;
		ARRAY_GROW(diff->rows, diff->nr, diff->cap);
		diff->rows[diff->nr++] = row;
	}
}

static void add_values(struct diff *diff)
{
	diff->nr_parts = diff->nr;
	diff->values = xcalloc(diff->nr * diff->nr_runs, sizeof(*diff->values));
	diff->parts = xcalloc(diff->nr, sizeof(*diff->parts));
	for (uint32_t i = 0; i < diff->nr; i++) {
		const struct diff_row *row = &diff->rows[i];
		bool is_old = row->old_at.row != DIFF_NONE;
		uint32_t run = is_old ? row->old_at.run : row->new_at.run;

		diff->parts[i] = i;
		diff->values[i * diff->nr_runs + run] =
			(double)(is_old ? &row->old_self : &row->new_self)->weight;
	}
}

bool diff_row_is_sure(const struct diff_row *row)
{
	return fabs(row->change) > row->half;
}

static int compare_at(const struct diff_at *a, const struct diff_at *b)
{
	if (a->row == DIFF_NONE || b->row == DIFF_NONE)
		return (a->row == DIFF_NONE) - (b->row == DIFF_NONE);
	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	if (a->label != b->label)
		return a->label < b->label ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static int surest_first(const void *a, const void *b)
{
	const struct diff_row *left = a, *right = b;
	bool left_sure = diff_row_is_sure(left), right_sure = diff_row_is_sure(right);
	double left_size = fabs(left->change), right_size = fabs(right->change);
	int order;

	if (left_sure != right_sure)
		return left_sure ? -1 : 1;
	if (left_size != right_size)
		return left_size > right_size ? -1 : 1;
	order = compare_at(&left->new_at, &right->new_at);
	return order ? order : compare_at(&left->old_at, &right->old_at);
}

static struct diff_side side_of(const struct weights *const *runs, size_t nr)
{
	struct diff_side side = {.runs = runs, .nr = nr};

	for (size_t i = 0; i < nr; i++)
		tally_add(&side.total, &runs[i]->total);
	return side;
}

static void compare_rows(struct diff *diff)
{
	cleanup_free struct diff_estimate *estimates = xcalloc(diff->nr + 1, sizeof(*estimates));

	for (size_t i = 0; i < diff->nr; i++) {
		struct diff_row *row = &diff->rows[i];
		const struct diff_parts parts = {.old_part = &row->old_self,
						 .new_part = &row->new_self,
						 .values = diff->values +
							   (size_t)row->values * diff->nr_runs};

		estimates[i] = diff_estimate_of(diff, &parts);
	}
	diff->quantile = diff_judge(estimates, diff->nr);
	for (size_t i = 0; i < diff->nr; i++) {
		diff->rows[i].change = estimates[i].change;
		diff->rows[i].half = estimates[i].half;
	}
}

struct diff *diff_new(const struct diff_request *request)
{
	struct diff *diff = xcalloc(1, sizeof(*diff));
	struct flat_keys keys;

	diff->old_side = side_of(request->old_runs, request->nr_old);
	diff->new_side = side_of(request->new_runs, request->nr_new);
	diff->nr_runs = request->nr_old + request->nr_new;
	diff->mode = request->mode;
	diff->by = request->by;
	diff->flats = xcalloc(diff->nr_runs, sizeof(struct flat *));
	keys = (struct flat_keys){
		.first = request->by, .second = request->by, .label = request->label};
	for (uint32_t run = 0; run < diff->nr_runs; run++) {
		const struct weights *weights = run < request->nr_old
							? request->old_runs[run]
							: request->new_runs[run - request->nr_old];

		diff->flats[run] = flat_new_by(weights, &keys);
		add_run(diff, run);
	}
	add_values(diff);
	diff_match_rows(diff, request->renames, request->nr_renames);
	diff->noise = diff_noise_of(diff);
	compare_rows(diff);
	if (diff->nr > 0)
		qsort(diff->rows, diff->nr, sizeof(*diff->rows), surest_first);
	return diff;
}

void diff_free(struct diff *diff)
{
	if (!diff)
		return;
	for (size_t i = 0; i < diff->nr_runs; i++)
		flat_free(diff->flats[i]);
	free(diff->flats);
	free(diff->values);
	free(diff->parts);
	free(diff->rows);
	free(diff);
}

const struct weights *diff_weights(const struct diff *diff, const struct diff_at *at)
{
	return diff->flats[at->run]->weights;
}

const struct diff_at *diff_known_at(const struct diff_row *row)
{
	return row->new_at.row != DIFF_NONE ? &row->new_at : &row->old_at;
}

uint64_t diff_mean(const struct diff_side *side, const struct tally *tally)
{
	return (tally->weight + side->nr / 2) / side->nr;
}

bool diff_is_none(const struct diff *diff)
{
	if (diff_has_runs(diff))
		return false;
	for (size_t i = 0; i < diff->nr; i++)
		if (diff->rows[i].old_self.weight != diff->rows[i].new_self.weight ||
		    diff->rows[i].old_self.samples != diff->rows[i].new_self.samples ||
		    diff->rows[i].old_calls.counted != diff->rows[i].new_calls.counted ||
		    diff->rows[i].old_calls.calls != diff->rows[i].new_calls.calls)
			return false;
	return true;
}
