// SPDX-License-Identifier: GPL-2.0-or-later
/* Call trees as text. */
#include "view/tree_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/tree.h"
#include "calltree/weights.h"
#include "view/cut.h"
#include "view/line.h"
#include "view/number.h"
#include "view/repeats.h"

#define TEE	 "\xe2\x94\x9c\xe2\x94\x80 " /* ├─ */
#define ELBOW	 "\xe2\x94\x94\xe2\x94\x80 " /* └─ */
#define BAR	 "\xe2\x94\x82  "	     /* │   */
#define BLANK	 "   "
#define ELLIPSIS "\xe2\x80\xa6"

/* A line that is still to be printed. */
struct pending {
	uint32_t node;
	uint32_t depth;	   /* calls below the root */
	uint32_t branches; /* columns of branch art before it */
	bool opens;	   /* the first line of a branch, not the next in a chain */
	bool last;	   /* opens the last branch of its parent */
	uint32_t nr_rest;  /* not 0: the line that sums up this many small children of node */
};

struct printer {
	const struct tree *tree;
	const struct view *view;
	const struct tree_limits *limits;
	struct sink *sink;
	struct unit unit;
	bool has_amounts; /* amounts and intervals; else shares only */
	struct pending *stack;
	size_t nr_stack, cap_stack;
	bool *continues; /* by branch column: more branches follow below */
	size_t nr_continues, cap_continues;
};

static const struct tally *all(const struct printer *printer)
{
	return &printer->tree->weights->total;
}

static void push(struct printer *printer, struct pending line)
{
	ARRAY_GROW(printer->stack, printer->nr_stack, printer->cap_stack);
	printer->stack[printer->nr_stack++] = line;
}

static bool worth_showing(const struct printer *printer, uint32_t node)
{
	const struct tally *total = &printer->tree->nodes[node].total;

	if (printer->tree->nodes[node].unsampled)
		return printer->limits->calls;
	return tally_percent(total, all(printer)) >= printer->limits->min_percent;
}

/* The children of a node: how many are worth a line, and the sum of the rest. */
struct children {
	uint32_t nr_shown, nr_rest;
	struct tally rest;
};

static struct children children_of(const struct printer *printer, uint32_t node, uint32_t depth)
{
	const struct tree_node *nodes = printer->tree->nodes;
	bool too_deep = printer->limits->max_depth && depth > printer->limits->max_depth;
	struct children children = {0};

	for (uint32_t at = nodes[node].first_child; at; at = nodes[at].next_sibling) {
		if (!too_deep && worth_showing(printer, at)) {
			children.nr_shown++;
			continue;
		}
		if (nodes[at].unsampled)
			continue;
		children.nr_rest++;
		tally_add(&children.rest, &nodes[at].total);
	}
	return children;
}

/* Put the lines below a node on the stack, the first to be printed on top. */
static void push_children(struct printer *printer, const struct pending *parent)
{
	const struct tree_node *nodes = printer->tree->nodes;
	uint32_t depth = parent->depth + 1;
	struct children children = children_of(printer, parent->node, depth);
	bool has_rest = children.nr_rest > 0 &&
			tally_percent(&children.rest, all(printer)) >= printer->limits->min_percent;
	uint32_t nr = children.nr_shown + has_rest, at = nodes[parent->node].first_child;
	struct pending line = {.depth = depth, .branches = parent->branches, .opens = nr > 1};
	size_t base;

	line.branches += line.opens;
	for (uint32_t i = 0; i < nr; i++)
		push(printer, line);
	if (nr == 0)
		return;
	assert(printer->stack);
	base = printer->nr_stack - nr;
	for (uint32_t i = 0; i < children.nr_shown; at = nodes[at].next_sibling)
		if (worth_showing(printer, at))
			printer->stack[base + nr - 1 - i++].node = at;
	printer->stack[base].last = true;
	if (has_rest) {
		printer->stack[base].node = parent->node;
		printer->stack[base].nr_rest = children.nr_rest;
	}
}

static void append_art(struct buf *out, struct printer *printer, const struct pending *line)
{
	for (uint32_t i = 1; i < line->branches + !line->opens; i++)
		buf_append_str(out, printer->continues[i] ? BAR : BLANK);
	if (line->opens)
		buf_append_str(out, line->last ? ELBOW : TEE);
}

/* Note for later lines whether this line's branch has siblings below. */
static void note_branch(struct printer *printer, const struct pending *line)
{
	while (printer->nr_continues <= line->branches) {
		ARRAY_GROW(printer->continues, printer->nr_continues, printer->cap_continues);
		printer->continues[printer->nr_continues++] = false;
	}
	if (line->opens)
		printer->continues[line->branches] = !line->last;
}

#define AMOUNT_COLUMNS	 8
#define PERCENT_COLUMNS	 6
#define SHARE_COLUMNS	 7 /* "total%" */
#define INTERVAL_COLUMNS 5
#define CALLS_COLUMNS	 14

/* Units of bytes are longer than those of time. */
#define MEMORY_COLUMNS 10

/* Room for art and a name; and with shares only, which leaves more. */
#define PATH_COLUMNS	   22
#define LEAST_PATH_COLUMNS 10

static size_t amount_columns(const struct printer *printer)
{
	if (!printer->has_amounts)
		return 0;
	return metric_is_bytes(printer->tree->weights->metric) ? MEMORY_COLUMNS : AMOUNT_COLUMNS;
}

static size_t percent_columns(const struct printer *printer)
{
	return printer->has_amounts ? PERCENT_COLUMNS : SHARE_COLUMNS;
}

static size_t cost_columns(const struct printer *printer)
{
	return amount_columns(printer) + percent_columns(printer);
}

/* Callers have no column for self time. */
static bool has_self(const struct printer *printer)
{
	return !printer->tree->of_callers;
}

static size_t all_cost_columns(const struct printer *printer)
{
	return cost_columns(printer) + (printer->has_amounts ? INTERVAL_COLUMNS : 0) +
	       (has_self(printer) ? cost_columns(printer) : 0) +
	       (printer->limits->calls ? CALLS_COLUMNS : 0);
}

static void append_cost(struct buf *out, const struct printer *printer, const struct tally *tally)
{
	double percent = tally_percent(tally, all(printer));
	enum style style = style_of_percent(percent);
	struct buf text = {0};

	if (tally->weight > 0 && printer->has_amounts)
		append_in_unit(&text, tally->weight, &printer->unit);
	line_append_right(out, printer->view, style, amount_columns(printer), buf_str(&text));
	buf_clear(&text);
	if (tally->weight > 0)
		append_percent(&text, percent);
	line_append_right(out, printer->view, style, percent_columns(printer), buf_str(&text));
	buf_release(&text);
}

static void append_interval(struct buf *out, const struct printer *printer,
			    const struct tally *tally)
{
	struct buf text = {0};

	if (tally->weight > 0)
		append_percent(&text, tally_interval(tally, all(printer)));
	if (text.nr_bytes >= INTERVAL_COLUMNS) /* 100.0, if nothing is known */
		text.nr_bytes -= strlen(".0");
	line_append_right(out, printer->view, STYLE_DIM, INTERVAL_COLUMNS, buf_str(&text));
	buf_release(&text);
}

void tree_append_marks(struct buf *out, const struct tree_node *node)
{
	append_repeats(out, node->repeats);
	if (node->inlined)
		buf_append_str(out, " (inlined)");
}

void tree_append_calls(struct buf *out, const struct tree_node *node)
{
	if (!node->counted)
		return;
	buf_append_str(out, node->shared ? "(" : "");
	append_count(out, node->calls);
	buf_append_str(out, node->shared ? ")" : "");
}

static void append_calls(struct buf *out, const struct printer *printer, const struct pending *line)
{
	struct buf text = {0};

	if (!line->nr_rest)
		tree_append_calls(&text, &printer->tree->nodes[line->node]);
	line_append_right(out, printer->view, STYLE_PLAIN, CALLS_COLUMNS, buf_str(&text));
	buf_release(&text);
}

static void append_node_name(struct buf *out, const struct printer *printer, uint32_t node)
{
	const struct tree_node *row = &printer->tree->nodes[node];
	struct buf name = {0};

	label_append_name(&name, printer->tree->weights->selection->expansion, row->label,
			  printer->view->names);
	escape_terminal(out, buf_str(&name));
	tree_append_marks(out, row);
	buf_release(&name);
}

/* The part after the numbers: branch art, at most half of the room, and the name. */
static void append_path(struct buf *out, struct printer *printer, const struct pending *line)
{
	size_t used_by_cost = all_cost_columns(printer) + 2;
	size_t room = printer->view->columns > used_by_cost + LEAST_PATH_COLUMNS
			      ? printer->view->columns - used_by_cost
			      : LEAST_PATH_COLUMNS;
	struct buf art = {0}, shown = {0}, name = {0};
	size_t used;

	append_art(&art, printer, line);
	used = append_cut(&shown, buf_str(&art), room / 2, CUT_START);
	style_append(out, printer->view, STYLE_DIM, buf_str(&shown));
	if (line->nr_rest)
		buf_printf(&name, ELLIPSIS " %u more", line->nr_rest);
	else
		append_node_name(&name, printer, line->node);
	buf_clear(&shown);
	append_cut(&shown, buf_str(&name), room - used, CUT_MIDDLE);
	style_append(out, printer->view, line->nr_rest ? STYLE_DIM : STYLE_PLAIN, buf_str(&shown));
	buf_release(&art);
	buf_release(&shown);
	buf_release(&name);
}

static void print_line(struct printer *printer, const struct pending *line)
{
	const struct tree_node *node = &printer->tree->nodes[line->node];
	static const struct tally none = {0};
	struct tally total = node->total;
	struct buf text = {0};

	if (line->nr_rest)
		total = children_of(printer, line->node, line->depth).rest;
	append_cost(&text, printer, &total);
	if (printer->has_amounts)
		append_interval(&text, printer, &total);
	if (has_self(printer))
		append_cost(&text, printer, line->nr_rest ? &none : &node->self);
	if (printer->limits->calls)
		append_calls(&text, printer, line);
	buf_append_str(&text, "  ");
	append_path(&text, printer, line);
	line_end(&text, printer->sink);
	buf_release(&text);
}

static void append_cost_header(struct buf *line, const struct printer *printer, const char *name)
{
	struct buf head = {0};

	if (printer->has_amounts) {
		buf_printf(&head, "%s%s%s", name, *printer->unit.name ? " " : "",
			   printer->unit.name);
		line_append_right(line, printer->view, STYLE_HEADING, amount_columns(printer),
				  buf_str(&head));
		buf_clear(&head);
		buf_append_str(&head, "%");
	} else {
		buf_printf(&head, "%s%%", name);
	}
	line_append_right(line, printer->view, STYLE_HEADING, percent_columns(printer),
			  buf_str(&head));
	buf_release(&head);
}

static void print_header(struct printer *printer)
{
	struct buf line = {0};

	append_cost_header(&line, printer, "total");
	if (printer->has_amounts)
		line_append_right(&line, printer->view, STYLE_HEADING, INTERVAL_COLUMNS,
				  "\xc2\xb1");
	if (has_self(printer))
		append_cost_header(&line, printer, "self");
	if (printer->limits->calls)
		line_append_right(&line, printer->view, STYLE_HEADING, CALLS_COLUMNS, "calls");
	buf_append_str(&line, "  ");
	style_append(&line, printer->view, STYLE_HEADING, "function");
	line_end(&line, printer->sink);
	buf_release(&line);
}

void tree_print_text(const struct tree *tree, const struct view *view,
		     const struct tree_limits *limits, struct sink *sink)
{
	const struct pending root = {.node = TREE_ROOT};
	struct printer printer = {
		.tree = tree, .view = view, .limits = limits, .sink = sink, .has_amounts = true};

	printer.has_amounts = view->columns >= all_cost_columns(&printer) + 2 + PATH_COLUMNS;
	printer.unit =
		unit_chosen(view->unit, tree->weights->metric, tree->nodes[TREE_ROOT].total.weight);
	print_header(&printer);
	push_children(&printer, &root);
	while (printer.nr_stack > 0) {
		struct pending line = printer.stack[--printer.nr_stack];

		note_branch(&printer, &line);
		print_line(&printer, &line);
		if (!line.nr_rest)
			push_children(&printer, &line);
	}
	free(printer.stack);
	free(printer.continues);
}
