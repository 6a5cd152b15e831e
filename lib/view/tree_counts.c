// SPDX-License-Identifier: GPL-2.0-or-later
/* Exact counts in call trees as text. */
#include "view/tree_counts.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/tree.h"
#include "calltree/weights.h"
#include "view/line.h"
#include "view/number.h"
#include "view/table.h"
#include "view/tree_text.h"

#define INDENT_COLUMNS 2
#define ELLIPSIS       "\xe2\x80\xa6"

static const struct table_column columns[] = {
	{.header = "function", .flexible = true, .cut = CUT_MIDDLE, .min_columns = 16, .share = 1},
	{.header = "calls", .right = true},
	{.header = "total", .right = true},
	{.header = "%", .right = true, .drop = 1},
};

/* A line that is still to be printed. */
struct pending {
	uint32_t node;
	size_t depth;	  /* of the line, from 0 */
	uint32_t nr_rest; /* not 0: it sums up this many small children of node */
	struct tally rest;
};

struct printer {
	const struct tree *tree;
	const struct view *view;
	const struct tree_limits *limits;
	struct table *table;
	struct unit unit;
	struct pending *stack;
	size_t nr_stack, cap_stack;
};

static void push(struct printer *printer, const struct pending *line)
{
	ARRAY_GROW(printer->stack, printer->nr_stack, printer->cap_stack);
	printer->stack[printer->nr_stack++] = *line;
}

static bool worth_showing(const struct printer *printer, const struct tree_node *node)
{
	return node->unsampled || tally_percent(&node->total, &printer->tree->weights->total) >=
					  printer->limits->min_percent;
}

/* Put the children of a node on the stack, the first to be printed on top. */
static void push_children(struct printer *printer, uint32_t parent, size_t depth)
{
	const struct tree_node *nodes = printer->tree->nodes;
	bool too_deep = printer->limits->max_depth && depth >= printer->limits->max_depth;
	struct pending rest = {.node = parent, .depth = depth};
	size_t base;

	for (uint32_t at = nodes[parent].first_child; at; at = nodes[at].next_sibling) {
		if (!too_deep && worth_showing(printer, &nodes[at]))
			continue;
		rest.nr_rest++;
		tally_add(&rest.rest, &nodes[at].total);
	}
	if (rest.nr_rest > 0 && tally_percent(&rest.rest, &printer->tree->weights->total) >=
					printer->limits->min_percent)
		push(printer, &rest);
	base = printer->nr_stack;
	for (uint32_t at = nodes[parent].first_child; at && !too_deep; at = nodes[at].next_sibling)
		if (worth_showing(printer, &nodes[at]))
			push(printer, &(struct pending){.node = at, .depth = depth});
	for (size_t low = base, high = printer->nr_stack; low + 1 < high;) {
		struct pending swapped = printer->stack[--high];

		printer->stack[high] = printer->stack[low];
		printer->stack[low++] = swapped;
	}
}

static void add_name(struct printer *printer, const struct pending *line)
{
	size_t most = printer->view->columns / 3, indent = line->depth * INDENT_COLUMNS;
	const struct tree_node *node = &printer->tree->nodes[line->node];
	struct buf name = {0};

	line_append_spaces(&name, indent < most ? indent : most);
	if (line->nr_rest)
		buf_printf(&name, ELLIPSIS " %u more", line->nr_rest);
	else
		label_append_name(&name, printer->tree->weights->selection->expansion, node->label,
				  printer->view->names);
	if (!line->nr_rest)
		tree_append_marks(&name, node);
	table_add(printer->table, line->nr_rest ? STYLE_DIM : STYLE_PLAIN, buf_str(&name));
	buf_release(&name);
}

static void add_line(struct printer *printer, const struct pending *line)
{
	const struct tree_node *node = &printer->tree->nodes[line->node];
	const struct tally *total = line->nr_rest ? &line->rest : &node->total;
	double percent = tally_percent(total, &printer->tree->weights->total);
	struct buf text = {0};

	add_name(printer, line);
	if (!line->nr_rest)
		tree_append_calls(&text, node);
	table_add(printer->table, STYLE_PLAIN, buf_str(&text));
	buf_clear(&text);
	if (total->weight > 0)
		append_in_unit(&text, total->weight, &printer->unit);
	if (total->weight > 0 && *printer->unit.name)
		buf_printf(&text, " %s", printer->unit.name);
	table_add(printer->table, style_of_percent(percent), buf_str(&text));
	buf_clear(&text);
	if (total->weight > 0)
		append_percent(&text, percent);
	table_add(printer->table, style_of_percent(percent), buf_str(&text));
	buf_release(&text);
}

void tree_print_counts(const struct tree *tree, const struct view *view,
		       const struct tree_limits *limits, struct sink *sink)
{
	struct printer printer = {.tree = tree, .view = view, .limits = limits};

	printer.unit =
		unit_chosen(view->unit, tree->weights->metric, tree->nodes[TREE_ROOT].total.weight);
	printer.table = table_new(columns, ARRAY_SIZE(columns));
	push_children(&printer, TREE_ROOT, 0);
	while (printer.nr_stack > 0) {
		struct pending line = printer.stack[--printer.nr_stack];

		add_line(&printer, &line);
		if (!line.nr_rest)
			push_children(&printer, line.node, line.depth + 1);
	}
	table_print(printer.table, view, sink);
	table_free(printer.table);
	free(printer.stack);
}
