// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/diff.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/strtab.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/weights.h"

/* A comparison in the making: the rows by the text that identifies a function. */
struct matcher {
	struct diff *diff;
	struct strtab *names;
	uint32_t *row_of_name; /* by str_id, counted from 1; 0: none yet */
	size_t nr_names, cap_names;
};

static struct diff_row *row_named(struct matcher *matcher, const char *name)
{
	struct diff *diff = matcher->diff;
	struct str_id id = strtab_intern(matcher->names, name);

	while (matcher->nr_names <= id.v) {
		ARRAY_GROW(matcher->row_of_name, matcher->nr_names, matcher->cap_names);
		matcher->row_of_name[matcher->nr_names++] = 0;
	}
	if (matcher->row_of_name[id.v] == 0) {
		ARRAY_GROW(diff->rows, diff->nr, diff->cap);
		diff->rows[diff->nr++] =
			(struct diff_row){.old_label = DIFF_NO_LABEL, .new_label = DIFF_NO_LABEL};
		matcher->row_of_name[id.v] = (uint32_t)diff->nr;
	}
	return &diff->rows[matcher->row_of_name[id.v] - 1];
}

/* Full name and module; a line break stands in neither by any compiler's doing. */
static void append_identity(struct buf *out, const struct expansion *expansion, uint32_t label)
{
	const struct module *module = label_module(expansion, label);

	label_append_name(out, expansion, label, NAME_FULL);
	buf_append_byte(out, '\n');
	if (module)
		buf_append_str(out, module_short_name(module));
}

static void add_side(struct matcher *matcher, const struct weights *weights, bool is_new)
{
	struct flat *flat = flat_new(weights, BY_FUNCTION);
	struct buf identity = {0};

	for (size_t i = 0; i < flat->nr; i++) {
		const struct flat_row *from = &flat->rows[i];
		struct diff_row *row;

		buf_clear(&identity);
		append_identity(&identity, flat_expansion(flat), from->label);
		row = row_named(matcher, buf_str(&identity));
		tally_add(is_new ? &row->new_self : &row->old_self, &from->self);
		if (is_new)
			row->new_label = from->label;
		else
			row->old_label = from->label;
	}
	buf_release(&identity);
	flat_free(flat);
}

/* Both shares are in percent of their own totals; amounts are put in percent of the old one. */
static void compare(const struct diff *diff, struct diff_row *row)
{
	const struct tally *old_all = &diff->old_weights->total;
	const struct tally *new_all = &diff->new_weights->total;
	double grown =
		diff->mode == DIFF_AMOUNTS ? (double)new_all->weight / (double)old_all->weight : 1;
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
		      enum diff_mode mode)
{
	struct diff *diff = xcalloc(1, sizeof(*diff));
	struct matcher matcher = {.diff = diff, .names = strtab_new()};

	diff->old_weights = old_weights;
	diff->new_weights = new_weights;
	diff->mode = mode;
	add_side(&matcher, old_weights, false);
	add_side(&matcher, new_weights, true);
	for (size_t i = 0; i < diff->nr; i++)
		compare(diff, &diff->rows[i]);
	if (diff->nr > 0)
		qsort(diff->rows, diff->nr, sizeof(*diff->rows), surest_first);
	strtab_free(matcher.names);
	free(matcher.row_of_name);
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

	return 100 * ((double)diff->new_weights->total.weight - old_total) / old_total;
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
