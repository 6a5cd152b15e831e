// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints rows of trees that can be opened. */
#include "browse/tree_line.h"

#include "base/buf.h"
#include "base/escape.h"
#include "browse/cost.h"
#include "browse/tree_rows.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/tree.h"
#include "calltree/weights.h"
#include "view/cut.h"
#include "view/line.h"
#include "view/tree_text.h"

#define TEE	 "\xe2\x94\x9c\xe2\x94\x80" /* ├─ */
#define ELBOW	 "\xe2\x94\x94\xe2\x94\x80" /* └─ */
#define BAR	 "\xe2\x94\x82 "	    /* │  */
#define BLANK	 "  "
#define OPEN	 "\xe2\x96\xbe " /* ▾ */
#define CLOSED	 "\xe2\x96\xb8 " /* ▸ */
#define LEAF	 "  "
#define ELLIPSIS "\xe2\x80\xa6"

/* The widest branch art that has bits in `continues`. */
#define BRANCHES_MAX 64

/* From this width on there are also amounts, intervals, and calls. */
#define COLUMNS_OF_AMOUNTS   64
#define COLUMNS_OF_INTERVALS 76
#define COLUMNS_OF_CALLS     90

#define INTERVAL_COLUMNS 5
#define CALLS_COLUMNS	 14

static bool has_intervals(const struct tree_line *line)
{
	return line->view->columns >= COLUMNS_OF_INTERVALS;
}

static bool has_calls(const struct tree_line *line)
{
	return line->has_calls && line->view->columns >= COLUMNS_OF_CALLS;
}

static struct cost_columns costs_of(const struct tree_line *line)
{
	return cost_columns_of(line->weights, line->view, line->weights->total.weight,
			       line->view->columns >= COLUMNS_OF_AMOUNTS);
}

static size_t number_columns(const struct tree_line *line)
{
	struct cost_columns costs = costs_of(line);

	return 2 * cost_columns_width(&costs) + (has_intervals(line) ? INTERVAL_COLUMNS : 0) +
	       (has_calls(line) ? CALLS_COLUMNS : 0);
}

/* The room for names: two spaces less, and at least a few columns. */
static size_t room_of(const struct tree_line *line)
{
	size_t used = number_columns(line) + 2;

	return line->view->columns > used + 8 ? line->view->columns - used : 8;
}

static void append_interval(struct buf *out, const struct tree_line *line,
			    const struct tally *tally)
{
	struct buf text = {0};

	if (tally->weight > 0)
		append_percent(&text, tally_interval(tally, &line->weights->total));
	line_append_right(out, line->view, STYLE_DIM, INTERVAL_COLUMNS, buf_str(&text));
	buf_release(&text);
}

static void append_calls(struct buf *out, const struct tree_line *line,
			 const struct tree_node *node)
{
	struct buf text = {0};

	if (node)
		tree_append_calls(&text, node);
	line_append_right(out, line->view, STYLE_PLAIN, CALLS_COLUMNS, buf_str(&text));
	buf_release(&text);
}

static void append_art(struct buf *out, const struct tree_row *row)
{
	uint32_t nr = row->branches < BRANCHES_MAX ? row->branches : BRANCHES_MAX;

	for (uint32_t i = nr; i-- > 0;) {
		bool goes_on = row->continues >> i & 1;

		if (i == 0 && row->is_branch)
			buf_append_str(out, goes_on ? TEE : ELBOW);
		else
			buf_append_str(out, goes_on ? BAR : BLANK);
	}
}

static void append_name(struct buf *out, const struct tree_line *line, const struct tree_row *row)
{
	const struct expansion *expansion = line->weights->selection->expansion;
	const struct tree_node *node = &row->tree->nodes[row->node];
	struct buf name = {0};

	label_append_name(&name, expansion, node->label, line->view->names);
	label_append_place(&name, expansion, node->label);
	escape_terminal(out, buf_str(&name));
	tree_append_marks(out, node);
	buf_release(&name);
}

static const char *marker_of(const struct tree_row *row)
{
	if (row->kind == TREE_ROW_FUNCTION || !row->has_children)
		return LEAF;
	return row->is_open ? OPEN : CLOSED;
}

/* Branch art, at most half of the room, and the name. */
static void append_path(struct buf *out, const struct tree_line *line, const struct tree_row *row)
{
	struct buf art = {0}, shown = {0}, name = {0};
	bool is_rest = row->kind == TREE_ROW_REST;
	size_t room = room_of(line), used;

	append_art(&art, row);
	used = append_cut(&shown, buf_str(&art), room / 2, CUT_START);
	buf_append_str(&shown, marker_of(row));
	used += 2;
	style_append(out, line->view, STYLE_DIM, buf_str(&shown));
	if (is_rest)
		buf_printf(&name, ELLIPSIS " %u more", row->nr_rest);
	else
		append_name(&name, line, row);
	buf_clear(&shown);
	append_cut(&shown, buf_str(&name), room > used ? room - used : 1, CUT_MIDDLE);
	style_append(out, line->view, is_rest ? STYLE_DIM : STYLE_PLAIN, buf_str(&shown));
	buf_release(&art);
	buf_release(&shown);
	buf_release(&name);
}

/* Small children: those not worth a row of their own. */
static struct tally rest_of(const struct tree_row *row, double min_percent)
{
	const struct tree_node *nodes = row->tree->nodes;
	struct tally rest = {0};

	for (uint32_t at = nodes[row->node].first_child; at; at = nodes[at].next_sibling)
		if (tally_percent(&nodes[at].total, &row->tree->weights->total) < min_percent)
			tally_add(&rest, &nodes[at].total);
	return rest;
}

static void print_head(const struct tree_line *line, const struct tree_row *row, struct sink *sink)
{
	struct buf text = {0};

	line_append_spaces(&text, number_columns(line) + 2);
	style_append(&text, line->view, STYLE_HEADING, row->head);
	line_end(&text, sink);
	buf_release(&text);
}

void tree_line_print(const struct tree_line *line, const struct tree_row *row, struct sink *sink)
{
	static const struct tally none = {0};
	struct cost_columns costs = costs_of(line);
	const struct tree_node *node;
	bool is_rest = row->kind == TREE_ROW_REST;
	struct tally total;
	struct buf text = {0};

	if (row->kind == TREE_ROW_HEAD) {
		print_head(line, row, sink);
		return;
	}
	node = &row->tree->nodes[row->node];
	total = is_rest ? rest_of(row, line->min_percent) : node->total;
	cost_append(&text, &costs, &total);
	if (has_intervals(line))
		append_interval(&text, line, &total);
	cost_append(&text, &costs, is_rest || row->tree->of_callers ? &none : &node->self);
	if (has_calls(line))
		append_calls(&text, line, is_rest ? NULL : node);
	buf_append_str(&text, "  ");
	append_path(&text, line, row);
	line_end(&text, sink);
	buf_release(&text);
}

void tree_line_print_header(const struct tree_line *line, struct sink *sink)
{
	struct cost_columns costs = costs_of(line);
	struct buf text = {0};

	cost_append_header(&text, &costs, "total");
	if (has_intervals(line))
		line_append_right(&text, line->view, STYLE_HEADING, INTERVAL_COLUMNS, "\xc2\xb1");
	cost_append_header(&text, &costs, "self");
	if (has_calls(line))
		line_append_right(&text, line->view, STYLE_HEADING, CALLS_COLUMNS, "calls");
	buf_append_str(&text, "  ");
	style_append(&text, line->view, STYLE_HEADING, "function");
	line_end(&text, sink);
	buf_release(&text);
}
