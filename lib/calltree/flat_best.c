// SPDX-License-Identifier: GPL-2.0-or-later
/* The first rows of each group of a table by two keys. */
#include "calltree/flat_best_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/flat_priv.h"

void flat_best_init(struct flat_best *best, const struct flat_order *order, size_t nr_groups,
		    size_t limit)
{
	*best = (struct flat_best){
		.order = *order, .nr_groups = limit ? nr_groups : 1, .limit = limit};
	best->groups = xcalloc(best->nr_groups, sizeof(*best->groups));
}

static void cut(struct flat_best *best, struct best_rows *group)
{
	if (!best->limit || group->nr <= best->limit)
		return;
	qsort_r(group->rows, group->nr, sizeof(*group->rows), flat_order_compare, &best->order);
	best->nr_left_out += group->nr - best->limit;
	group->nr = best->limit;
	group->last_self = group->rows[best->limit - 1].self.weight;
	group->last_total = group->rows[best->limit - 1].total.weight;
	group->is_cut = true;
}

bool flat_best_wants(struct flat_best *best, uint32_t group, uint64_t self, uint64_t total)
{
	const struct best_rows *rows = &best->groups[best->limit ? group : 0];

	if (!rows->is_cut || !best->order.by_weight || self > rows->last_self ||
	    (self == rows->last_self && total >= rows->last_total))
		return true;
	best->nr_left_out++;
	return false;
}

void flat_best_add(struct flat_best *best, const struct flat_row *row)
{
	struct best_rows *group = &best->groups[best->limit ? row->group : 0];

	if (group->is_cut &&
	    flat_order_compare(row, &group->rows[best->limit - 1], &best->order) > 0) {
		best->nr_left_out++;
		return;
	}
	ARRAY_GROW(group->rows, group->nr, group->cap);
	group->rows[group->nr++] = *row;
	if (group->nr / 2 >= best->limit)
		cut(best, group);
}

void flat_best_finish(struct flat_best *best, struct flat *flat)
{
	/* Without a limit there may be many rows: take them over rather than copy them. */
	if (!best->limit) {
		flat->rows = best->groups->rows;
		flat->nr = best->groups->nr;
		flat->cap = best->groups->cap;
		*best->groups = (struct best_rows){0};
	}
	for (size_t i = 0; i < best->nr_groups; i++) {
		struct best_rows *group = &best->groups[i];

		cut(best, group);
		ARRAY_RESERVE(flat->rows, flat->nr + group->nr, flat->cap);
		for (size_t row = 0; row < group->nr; row++)
			flat->rows[flat->nr++] = group->rows[row];
		free(group->rows);
	}
	flat->nr_left_out = best->nr_left_out;
	free(best->groups);
}
