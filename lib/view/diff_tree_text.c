// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison of call trees as text. */
#include "view/diff_tree_text.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "calltree/diff_tree.h"
#include "calltree/expand.h"
#include "calltree/weights.h"
#include "view/cut.h"
#include "view/diff_text.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/table.h"

#define INDENT_COLUMNS 2

static const struct table_column columns[] = {
	{.header = "change %", .right = true},
	{.header = "\xc2\xb1", .right = true},
	{.header = "old", .right = true},
	{.header = "new", .right = true},
	{.header = "", .drop = 1},
	{.header = "function", .flexible = true, .cut = CUT_MIDDLE, .min_columns = 16, .share = 1},
};

#define FIRST_OF_SIDES 2

struct pending {
	uint32_t node;
	size_t branches; /* the number of branchings above it */
};

struct printer {
	const struct diff_tree *tree;
	const struct view *view;
	const struct diff_limits *limits;
	struct table *table;
	struct unit unit;
	struct pending *stack;
	size_t nr_stack, cap_stack;
	size_t nr_left_out;
};

static bool is_shown(const struct printer *printer, const struct diff_node *node)
{
	return printer->limits->unsure || node->leads;
}

/* The first one on top. A chain of single calls stays in one column. */
static void push_children(struct printer *printer, const struct pending *parent)
{
	const struct diff_node *nodes = printer->tree->nodes;
	size_t base = printer->nr_stack, nr = 0;

	for (uint32_t at = nodes[parent->node].first_child; at; at = nodes[at].next_sibling) {
		if (!is_shown(printer, &nodes[at])) {
			printer->nr_left_out++;
			continue;
		}
		ARRAY_GROW(printer->stack, printer->nr_stack, printer->cap_stack);
		printer->stack[printer->nr_stack++] = (struct pending){at, parent->branches};
		nr++;
	}
	for (size_t low = base, high = printer->nr_stack; low + 1 < high;) {
		struct pending swapped = printer->stack[--high];

		printer->stack[high] = printer->stack[low];
		printer->stack[low++] = swapped;
	}
	for (size_t i = base; i < printer->nr_stack && nr > 1; i++)
		printer->stack[i].branches++;
}

static void add_number(struct printer *printer, enum style style, bool with_sign, double number)
{
	struct buf text = {0};

	buf_printf(&text, with_sign ? "%+.1f" : "%.1f", number);
	table_add(printer->table, style, buf_str(&text));
	buf_release(&text);
}

static void add_amount(struct printer *printer, const struct diff_side *side,
		       const struct tally *tally)
{
	struct buf text = {0};

	if (printer->tree->diff->mode == DIFF_AMOUNTS)
		append_in_unit(&text, diff_mean(side, tally), &printer->unit);
	else
		append_percent(&text, diff_percent(printer->tree->diff, side, tally));
	table_add(printer->table, STYLE_PLAIN, buf_str(&text));
	buf_release(&text);
}

static void add_name(struct printer *printer, const struct pending *line)
{
	const struct diff_node *node = &printer->tree->nodes[line->node];
	const struct diff_at *at = diff_node_known_at(node);
	const struct flat *flat = printer->tree->diff->flats[at->run];
	size_t indent = min_u64(line->branches * INDENT_COLUMNS, printer->view->columns / 3);
	struct buf name = {0};

	line_append_spaces(&name, indent);
	label_append_name(&name, flat_expansion(flat), at->label, printer->view->names);
	if (node->inlined)
		buf_append_str(&name, " (inlined)");
	table_add(printer->table, STYLE_PLAIN, buf_str(&name));
	buf_release(&name);
}

static const char *presence_word(const struct diff_node *node)
{
	if (node->old_at.row == DIFF_NONE)
		return "new";
	return node->new_at.row == DIFF_NONE ? "gone" : "";
}

static void add_line(struct printer *printer, const struct pending *line)
{
	const struct diff *diff = printer->tree->diff;
	const struct diff_node *node = &printer->tree->nodes[line->node];
	enum style style = node->change > 0 ? STYLE_HOT : STYLE_GOOD;

	add_number(printer, diff_node_is_sure(node) ? style : STYLE_DIM, true, node->change);
	add_number(printer, STYLE_DIM, false, node->half);
	add_amount(printer, &diff->old_side, &node->old_total);
	add_amount(printer, &diff->new_side, &node->new_total);
	table_add(printer->table, STYLE_SPECIAL, presence_word(node));
	add_name(printer, line);
}

static struct unit unit_of(const struct diff *diff, const struct view *view)
{
	uint64_t largest = max_u64(diff_mean(&diff->old_side, &diff->old_side.total),
				   diff_mean(&diff->new_side, &diff->new_side.total));

	return unit_chosen(view->unit, diff->old_side.runs[0]->metric, largest);
}

static void print_left_out(const struct printer *printer, struct sink *sink)
{
	struct buf text = {0};

	if (printer->nr_left_out == 0)
		return;
	append_count(&text, printer->nr_left_out);
	buf_append_str(&text,
		       printer->nr_left_out == 1 ? " more branch has" : " more branches have");
	buf_append_str(&text, " no sure change (--all shows them)");
	paragraph_print(printer->view, "", buf_str(&text), sink);
	buf_release(&text);
}

static void print_nodes(struct printer *printer, struct sink *sink)
{
	const struct diff *diff = printer->tree->diff;
	const char *unit = diff->mode == DIFF_AMOUNTS ? printer->unit.name : "%";
	struct table_column headed[ARRAY_SIZE(columns)];
	struct buf heads[2] = {{0}, {0}};
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		headed[i] = columns[i];
	for (size_t i = 0; i < 2; i++) {
		buf_printf(&heads[i], "%s%s%s", columns[FIRST_OF_SIDES + i].header,
			   *unit ? " " : "", unit);
		headed[FIRST_OF_SIDES + i].header = buf_str(&heads[i]);
	}
	printer->table = table_new(headed, ARRAY_SIZE(columns));
	push_children(printer, &(struct pending){.node = DIFF_TREE_ROOT});
	while (printer->nr_stack > 0) {
		struct pending line = printer->stack[--printer->nr_stack];

		any = true;
		add_line(printer, &line);
		push_children(printer, &line);
	}
	if (any)
		table_print(printer->table, printer->view, sink);
	table_free(printer->table);
	buf_release(&heads[0]);
	buf_release(&heads[1]);
}

void diff_tree_print_text(const struct diff_tree *tree, const struct view *view,
			  const struct diff_limits *limits, struct sink *sink)
{
	struct printer printer = {.tree = tree, .view = view, .limits = limits};

	if (!diff_print_heading(tree->diff, view, sink) && !limits->unsure)
		return;
	printer.unit = unit_of(tree->diff, view);
	line_print(sink, view, STYLE_PLAIN, "");
	print_nodes(&printer, sink);
	print_left_out(&printer, sink);
	diff_print_note(tree->diff, view, sink);
	free(printer.stack);
}
