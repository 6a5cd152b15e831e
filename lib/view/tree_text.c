// SPDX-License-Identifier: GPL-2.0-or-later
/* Call trees as text. */
#include "view/tree_text.h"

#include <stdio.h>
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
#include "view/tree_walk.h"

#define TEE	 "\xe2\x94\x9c\xe2\x94\x80 " /* ├─ */
#define ELBOW	 "\xe2\x94\x94\xe2\x94\x80 " /* └─ */
#define BAR	 "\xe2\x94\x82  "	     /* │   */
#define BLANK	 "   "
#define ELLIPSIS "\xe2\x80\xa6"

#define AMOUNT_COLUMNS	 8
#define MEMORY_COLUMNS	 10 /* units of bytes are longer than those of time */
#define PERCENT_COLUMNS	 6
#define SHARE_COLUMNS	 7 /* "total%" */
#define INTERVAL_COLUMNS 5
#define CALLS_COLUMNS	 14

/* Room for art and a name; and with shares only, which leaves more. */
#define PATH_COLUMNS	   22
#define LEAST_PATH_COLUMNS 10

/* The numbers that a line begins with. */
enum number {
	NUMBER_TOTAL,
	NUMBER_TOTAL_PERCENT,
	NUMBER_INTERVAL,
	NUMBER_SELF,
	NUMBER_SELF_PERCENT,
	NUMBER_CALLS,
	NR_NUMBERS,
};

struct number_column {
	enum number number;
	size_t width;
	char header[32];
};

struct layout {
	struct number_column numbers[NR_NUMBERS];
	size_t nr;
	size_t width;	  /* of all numbers */
	struct unit unit; /* of amounts */
};

static void add_column(struct layout *layout, enum number number, size_t width, const char *name,
		       const char *unit)
{
	struct number_column *column = &layout->numbers[layout->nr++];

	column->number = number;
	column->width = width;
	snprintf(column->header, sizeof(column->header), "%s%s%s", name, *unit ? " " : "", unit);
	layout->width += width;
}

/* The columns of numbers, the amounts in a unit. Without one there are only shares. */
static struct layout lay_out(const struct tree *tree, bool has_calls, const struct unit *unit)
{
	bool is_of_bytes = metric_is_bytes(tree->weights->metric);
	size_t amount_columns = is_of_bytes ? MEMORY_COLUMNS : AMOUNT_COLUMNS;
	bool has_self = !tree->of_callers;
	struct layout layout = {.nr = 0};

	if (unit) {
		layout.unit = *unit;
		add_column(&layout, NUMBER_TOTAL, amount_columns, "total", unit->name);
		add_column(&layout, NUMBER_TOTAL_PERCENT, PERCENT_COLUMNS, "%", "");
		add_column(&layout, NUMBER_INTERVAL, INTERVAL_COLUMNS, "\xc2\xb1", "");
	} else {
		add_column(&layout, NUMBER_TOTAL_PERCENT, SHARE_COLUMNS, "total%", "");
	}
	if (has_self && unit) {
		add_column(&layout, NUMBER_SELF, amount_columns, "self", unit->name);
		add_column(&layout, NUMBER_SELF_PERCENT, PERCENT_COLUMNS, "%", "");
	} else if (has_self) {
		add_column(&layout, NUMBER_SELF_PERCENT, SHARE_COLUMNS, "self%", "");
	}
	if (has_calls)
		add_column(&layout, NUMBER_CALLS, CALLS_COLUMNS, "calls", "");
	return layout;
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

static void append_interval(struct buf *out, const struct tally *part, const struct tally *all)
{
	append_percent(out, tally_interval(part, all));
	if (out->nr_bytes >= INTERVAL_COLUMNS) /* 100.0, if nothing is known */
		out->nr_bytes -= strlen(".0");
}

/* Append a number, or nothing for 0; returns its style. */
static enum style append_number(struct buf *out, enum number number,
				const struct tree_walk_line *line, const struct tally *all,
				const struct unit *unit)
{
	bool is_self = number == NUMBER_SELF || number == NUMBER_SELF_PERCENT;
	const struct tally *part = is_self ? &line->self : &line->total;

	switch (number) {
	case NUMBER_TOTAL:
	case NUMBER_SELF:
		if (part->weight > 0)
			append_in_unit(out, part->weight, unit);
		break;
	case NUMBER_TOTAL_PERCENT:
	case NUMBER_SELF_PERCENT:
		if (part->weight > 0)
			append_percent(out, tally_percent(part, all));
		break;
	case NUMBER_INTERVAL:
		if (part->weight > 0)
			append_interval(out, part, all);
		return STYLE_DIM;
	case NUMBER_CALLS:
		if (!line->nr_rest)
			tree_append_calls(out, line->node);
		return STYLE_PLAIN;
	case NR_NUMBERS:
		break;
	}
	return style_of_percent(tally_percent(part, all));
}

static void append_numbers(struct buf *out, const struct layout *layout,
			   const struct tree_walk_line *line, const struct tally *all,
			   const struct view *view)
{
	struct buf text = {0};

	for (size_t i = 0; i < layout->nr; i++) {
		const struct number_column *column = &layout->numbers[i];
		enum style style;

		buf_clear(&text);
		style = append_number(&text, column->number, line, all, &layout->unit);
		line_append_right(out, view, style, column->width, buf_str(&text));
	}
	buf_release(&text);
}

/* By branch column: do more branches follow below? */
struct branches {
	bool *continue_below;
	size_t nr, cap;
};

/* Note for later lines whether this line's branch has siblings below. */
static void note_branch(struct branches *branches, const struct tree_walk_line *line)
{
	while (branches->nr <= line->branches) {
		ARRAY_GROW(branches->continue_below, branches->nr, branches->cap);
		branches->continue_below[branches->nr++] = false;
	}
	if (line->opens)
		branches->continue_below[line->branches] = !line->last;
}

static void append_art(struct buf *out, const struct branches *branches,
		       const struct tree_walk_line *line)
{
	for (uint32_t i = 1; i < line->branches + !line->opens; i++)
		buf_append_str(out, branches->continue_below[i] ? BAR : BLANK);
	if (line->opens)
		buf_append_str(out, line->last ? ELBOW : TEE);
}

static void append_name(struct buf *out, const struct expansion *expansion,
			const struct tree_walk_line *line, enum name_style style)
{
	struct buf name = {0};

	if (line->nr_rest) {
		buf_printf(out, ELLIPSIS " %u more", line->nr_rest);
		return;
	}
	label_append_name(&name, expansion, line->node->label, style);
	label_append_place(&name, expansion, line->node->label);
	escape_terminal(out, buf_str(&name));
	tree_append_marks(out, line->node);
	buf_release(&name);
}

/* Branch art, in at most half of the room, and the name. */
static void append_path(struct buf *out, const char *art, const char *name, enum style style,
			const struct view *view, size_t room)
{
	struct buf shown_art = {0}, shown_name = {0};
	size_t used = append_cut(&shown_art, art, room / 2, CUT_START);

	append_cut(&shown_name, name, room - used, CUT_MIDDLE);
	style_append(out, view, STYLE_DIM, buf_str(&shown_art));
	style_append(out, view, style, buf_str(&shown_name));
	buf_release(&shown_art);
	buf_release(&shown_name);
}

static void print_header(const struct layout *layout, const struct view *view, struct sink *sink)
{
	struct buf line = {0};

	for (size_t i = 0; i < layout->nr; i++)
		line_append_right(&line, view, STYLE_HEADING, layout->numbers[i].width,
				  layout->numbers[i].header);
	buf_append_str(&line, "  ");
	style_append(&line, view, STYLE_HEADING, "function");
	line_end(&line, sink);
	buf_release(&line);
}

void tree_print_text(const struct tree *tree, const struct view *view,
		     const struct tree_limits *limits, struct sink *sink)
{
	const struct weights *weights = tree->weights;
	const struct unit unit =
		unit_chosen(view->unit, weights->metric, tree->nodes[TREE_ROOT].total.weight);
	struct layout layout = lay_out(tree, limits->calls, &unit);
	struct branches branches = {.nr = 0};
	struct tree_walk_line line;
	struct tree_walk walk;
	size_t room = LEAST_PATH_COLUMNS;

	if (view->columns < layout.width + 2 + PATH_COLUMNS)
		layout = lay_out(tree, limits->calls, NULL);
	if (view->columns > layout.width + 2 + LEAST_PATH_COLUMNS)
		room = view->columns - layout.width - 2;
	print_header(&layout, view, sink);
	tree_walk_begin(&walk, tree, limits);
	while (tree_walk_next(&walk, &line)) {
		struct buf text = {0}, art = {0}, name = {0};

		append_numbers(&text, &layout, &line, &weights->total, view);
		buf_append_str(&text, "  ");
		note_branch(&branches, &line);
		append_art(&art, &branches, &line);
		append_name(&name, weights->selection->expansion, &line, view->names);
		append_path(&text, buf_str(&art), buf_str(&name),
			    line.nr_rest ? STYLE_DIM : STYLE_PLAIN, view, room);
		line_end(&text, sink);
		buf_release(&text);
		buf_release(&art);
		buf_release(&name);
	}
	tree_walk_end(&walk);
	free(branches.continue_below);
}
