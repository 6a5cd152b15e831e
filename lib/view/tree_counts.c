// SPDX-License-Identifier: GPL-2.0-or-later
/* Exact counts in call trees as text. */
#include "view/tree_counts.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/minmax.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/tree.h"
#include "calltree/weights.h"
#include "view/line.h"
#include "view/number.h"
#include "view/table.h"
#include "view/tree_text.h"
#include "view/tree_walk.h"

#define INDENT_COLUMNS 2
#define ELLIPSIS       "\xe2\x80\xa6"

static const struct table_column columns[] = {
	{.header = "function", .flexible = true, .cut = CUT_MIDDLE, .min_columns = 16, .share = 1},
	{.header = "calls", .right = true},
	{.header = "total", .right = true},
	{.header = "%", .right = true, .drop = 1},
};

static void append_name(struct buf *out, const struct expansion *expansion,
			const struct tree_walk_line *line, enum name_style style)
{
	if (line->nr_rest) {
		buf_printf(out, ELLIPSIS " %u more", line->nr_rest);
		return;
	}
	label_append_name(out, expansion, line->node->label, style);
	tree_append_marks(out, line->node);
}

static void add_name(struct table *table, const struct tree_walk_line *line,
		     const struct expansion *expansion, const struct view *view)
{
	size_t indent = min_u64((line->depth - 1) * INDENT_COLUMNS, view->columns / 3);
	struct buf name = {0};

	line_append_spaces(&name, indent);
	append_name(&name, expansion, line, view->names);
	table_add(table, line->nr_rest ? STYLE_DIM : STYLE_PLAIN, buf_str(&name));
	buf_release(&name);
}

static void add_numbers(struct table *table, const struct tree_walk_line *line,
			const struct tally *all, const struct unit *unit)
{
	double percent = tally_percent(&line->total, all);
	struct buf text = {0};

	if (!line->nr_rest)
		tree_append_calls(&text, line->node);
	table_add(table, STYLE_PLAIN, buf_str(&text));
	buf_clear(&text);
	if (line->total.weight > 0) {
		append_in_unit(&text, line->total.weight, unit);
		buf_printf(&text, "%s%s", *unit->name ? " " : "", unit->name);
	}
	table_add(table, style_of_percent(percent), buf_str(&text));
	buf_clear(&text);
	if (line->total.weight > 0)
		append_percent(&text, percent);
	table_add(table, style_of_percent(percent), buf_str(&text));
	buf_release(&text);
}

void tree_print_counts(const struct tree *tree, const struct view *view,
		       const struct tree_limits *limits, struct sink *sink)
{
	const struct weights *weights = tree->weights;
	const struct unit unit =
		unit_chosen(view->unit, weights->metric, tree->nodes[TREE_ROOT].total.weight);
	struct table *table = table_new(columns, ARRAY_SIZE(columns));
	struct tree_limits with_calls = *limits;
	struct tree_walk_line line;
	struct tree_walk walk;

	with_calls.calls = true;
	tree_walk_begin(&walk, tree, &with_calls);
	while (tree_walk_next(&walk, &line)) {
		add_name(table, &line, weights->selection->expansion, view);
		add_numbers(table, &line, &weights->total, &unit);
	}
	tree_walk_end(&walk);
	table_print(table, view, sink);
	table_free(table);
}
