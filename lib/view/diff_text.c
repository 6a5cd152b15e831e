// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison of profiles as text. */
#include "view/diff_text.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/sink.h"
#include "calltree/diff.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "view/cut.h"
#include "view/diff_calls.h"
#include "view/diff_machine.h"
#include "view/diff_words.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/summary.h"
#include "view/table.h"

static bool is_shown(const struct diff_row *row, const struct diff_limits *limits)
{
	return limits->unsure || diff_row_is_sure(row);
}

/* ", 988 samples", ", 77 blocks recorded"; if every block was recorded, many may share a row. */
static void append_observed(struct buf *out, enum metric metric, const struct tally *total)
{
	if (metric_is_counter(metric))
		return;
	buf_append_str(out, ", ");
	if (!metric_is_memory(metric)) {
		append_weight(out, METRIC_SAMPLES, total->samples);
		return;
	}
	append_weight(out, METRIC_ALLOCS,
		      tally_is_exact(total) ? tally_blocks(total) : total->samples);
	buf_append_str(out, " recorded");
}

/* The amount is the mean of several runs; the number of observations is their sum. */
static void print_side(const struct diff *diff, const struct diff_side *side,
		       const struct view *view, const char *name, struct sink *sink)
{
	const struct weights *first = side->runs[0];
	struct buf title = {0}, text = {0}, shown = {0};

	buf_printf(&text, "%s: ", name);
	if (side->nr > 1)
		buf_printf(&text, "%zu runs of ", side->nr);
	append_weight(&text, first->metric, diff_mean(side, &side->total));
	buf_append_str(&text, metric_info(first->metric)->amount_words);
	if (side->nr > 1)
		buf_append_str(&text, " in the mean");
	if (diff->mode == DIFF_RATES) {
		buf_append_str(&text, " in ");
		append_weight(&text, METRIC_WALL, diff_elapsed_ns(side) / side->nr);
	}
	if (first->metric != METRIC_SAMPLES)
		append_observed(&text, first->metric, &side->total);
	buf_append_str(&text, ": ");
	profile_append_title(&title, first->selection->expansion->profile);
	escape_terminal(&text, buf_str(&title));
	buf_release(&title);
	append_cut(&shown, buf_str(&text), view->columns, CUT_END);
	line_print(sink, view, STYLE_PLAIN, buf_str(&shown));
	buf_release(&text);
	buf_release(&shown);
}

static void print_total(const struct diff *diff, const struct view *view, struct sink *sink)
{
	struct buf text = {0};

	diff_append_total(&text, diff);
	line_print(sink, view, STYLE_HEADING, buf_str(&text));
	buf_release(&text);
}

/*
 * Nearly all functions changed by one factor: the machine did that, or another way of compilation.
 */
static void print_factor(const struct diff *diff, const struct view *view, struct sink *sink)
{
	double factor = diff->noise.factor;
	struct buf text = {0};

	if (!diff->noise.is_common)
		return;
	buf_printf(&text, "the new run was %.2f \xc3\x97 %s throughout: ",
		   factor > 1 ? factor : 1 / factor, factor > 1 ? "slower" : "faster");
	diff_append_kind(&text, diff, 2);
	buf_append_str(&text, " are compared as if it had been as fast as the old one");
	paragraph_print(view, "", buf_str(&text), sink);
	buf_release(&text);
}

static bool is_merged(const struct diff_side *side)
{
	return side->runs[0]->selection->expansion->profile->runs.nr > 1;
}

/* The other side is of the same run then. */
static bool is_of_calls(const struct diff_side *side)
{
	return side->runs[0]->selection->slow.which == FILTER_OTHER_CALLS;
}

void diff_print_note(const struct diff *diff, const struct view *view, struct sink *sink)
{
	struct buf text = {0};

	if (diff_has_runs(diff) || diff_is_none(diff) || !metric_is_time(diff_metric(diff)) ||
	    diff->mode == DIFF_RATES || is_of_calls(&diff->old_side))
		return;
	if (is_merged(&diff->old_side) || is_merged(&diff->new_side))
		buf_append_str(&text, "a merged recording counts as one run; ");
	buf_append_str(&text, "one run each: ");
	if (diff->noise.is_known)
		buf_printf(&text,
			   "that runs differ by %.1f%% is told by how all rows of these two "
			   "changed; ",
			   100 * diff->noise.spread);
	else
		buf_append_str(&text, "how runs of one program differ is not known; ");
	buf_append_str(&text, "three of each are surer: profc diff old-?.data -- new-?.data");
	sink_str(sink, "\n");
	paragraph_print(view, "note: ", buf_str(&text), sink);
	buf_release(&text);
}

#define NR_COLUMNS	7
#define FIRST_OF_SIDES	2
#define LAST_OF_NUMBERS 4

static const struct table_column columns[NR_COLUMNS] = {
	{.header = "change %", .right = true},
	{.header = "\xc2\xb1", .right = true},
	{.header = "old", .right = true, .drop = 3},
	{.header = "new", .right = true, .drop = 2},
	{.header = "", .drop = 1},
	{.header = "function",
	 .flexible = true,
	 .cut = CUT_MIDDLE,
	 .min_columns = 16,
	 .share = 3,
	 .kept_columns = 24},
	{.header = "module",
	 .flexible = true,
	 .cut = CUT_END,
	 .min_columns = 6,
	 .share = 1,
	 .drop = 4},
};

/* The last column is the location of a line or function; rows that are no code have none. */
static size_t nr_columns(const struct diff *diff)
{
	return diff->by == BY_FUNCTION || diff->by == BY_LINE ? NR_COLUMNS : NR_COLUMNS - 1;
}

static void head_names(const struct diff *diff, struct table_column *headed)
{
	struct table_column *name = &headed[LAST_OF_NUMBERS + 1], *more = name + 1;

	if (diff->by == BY_LINE) {
		name->min_columns = 10;
		more->header = "location";
		more->cut = CUT_START;
		more->share = 2;
		more->min_columns = 14;
		more->drop = 0;
		return;
	}
	if (diff->by == BY_FUNCTION)
		return;
	name->header = dimension_names[diff->by];
	name->cut = diff->by == BY_FILE || diff->by == BY_MODULE ? CUT_START : CUT_END;
}

static enum style style_of_change(const struct diff_row *row)
{
	if (!diff_row_is_sure(row))
		return STYLE_DIM;
	return row->change > 0 ? STYLE_HOT : STYLE_GOOD;
}

static void add_number(struct table *table, enum style style, bool with_sign, double number)
{
	char text[32];

	snprintf(text, sizeof(text), with_sign ? "%+.1f" : "%.1f", number);
	table_add(table, style, text);
}

/* A side in the unit of the table, or in percent if shares or rates are compared. */
static void add_amount(struct table *table, const struct diff *diff, const struct diff_side *side,
		       const struct tally *tally, const struct unit *unit)
{
	struct buf text = {0};

	if (diff->mode == DIFF_AMOUNTS)
		append_in_unit(&text, diff_mean(side, tally), unit);
	else
		append_percent(&text, diff_percent(diff, side, tally));
	table_add(table, STYLE_PLAIN, buf_str(&text));
	buf_release(&text);
}

static void add_names(struct table *table, const struct diff *diff, const struct view *view,
		      const struct diff_at *at)
{
	const struct flat *flat = diff->flats[at->run];
	const struct flat_row *row = &flat->rows[at->row];
	const struct module *module = NULL;
	struct buf name = {0}, location = {0};

	flat_append_name(&name, flat, row, view->names);
	table_add(table, STYLE_PLAIN, buf_str(&name));
	if (diff->by == BY_LINE) {
		flat_append_location(&location, flat, row);
		table_add(table, STYLE_DIM, cut_directories(buf_str(&location)));
	} else if (diff->by == BY_FUNCTION) {
		module = label_module(flat_expansion(flat), at->label);
		table_add(table, STYLE_DIM, module ? module_short_name(module) : "");
	}
	buf_release(&name);
	buf_release(&location);
}

static void add_row(struct table *table, const struct diff *diff, const struct view *view,
		    const struct unit *unit, const struct diff_row *row)
{
	add_number(table, style_of_change(row), true, row->change);
	add_number(table, STYLE_DIM, false, row->half);
	add_amount(table, diff, &diff->old_side, &row->old_self, unit);
	add_amount(table, diff, &diff->new_side, &row->new_self, unit);
	table_add(table, STYLE_SPECIAL, diff_presence_word(diff, row));
	add_names(table, diff, view, diff_known_at(row));
}

/* The headers of the two sides say their unit. */
static void head_columns(const struct diff *diff, const struct unit *unit,
			 struct table_column *headed, char (*texts)[16])
{
	const char *name = diff->mode == DIFF_AMOUNTS ? unit->name : "%";

	memcpy(headed, columns, sizeof(columns));
	for (size_t i = 0; i < 2; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s%s%s", columns[FIRST_OF_SIDES + i].header,
			 *name ? " " : "", name);
		headed[FIRST_OF_SIDES + i].header = texts[i];
	}
	head_names(diff, headed);
}

static void print_left_out(const struct diff *diff, const struct view *view, size_t nr_more,
			   size_t nr_unsure, struct sink *sink)
{
	struct buf text = {0};

	if (nr_more > 0) {
		append_count(&text, nr_more);
		buf_append_str(&text, nr_more == 1 ? " more row (-n 0 shows all)"
						   : " more rows (-n 0 shows all)");
		if (nr_unsure > 0)
			buf_append_str(&text, "; ");
	}
	if (nr_unsure > 0) {
		diff_append_unsure(&text, diff, nr_unsure);
		buf_append_str(&text, " (--all shows them)");
	}
	if (text.nr_bytes > 0)
		paragraph_print(view, "", buf_str(&text), sink);
	buf_release(&text);
}

static void print_rows(const struct diff *diff, const struct view *view,
		       const struct diff_limits *limits, struct sink *sink)
{
	struct unit unit = diff_unit(diff, view->unit);
	struct table_column headed[NR_COLUMNS];
	char texts[2][16];
	size_t nr_shown = 0, nr_more = 0, nr_unsure = 0;
	struct table *table;

	head_columns(diff, &unit, headed, texts);
	table = table_new(headed, nr_columns(diff));
	for (size_t i = 0; i < diff->nr; i++) {
		if (!is_shown(&diff->rows[i], limits)) {
			nr_unsure += diff->rows[i].change != 0;
		} else if (limits->rows && nr_shown == limits->rows) {
			nr_more++;
		} else {
			add_row(table, diff, view, &unit, &diff->rows[i]);
			nr_shown++;
		}
	}
	if (nr_shown > 0)
		table_print(table, view, sink);
	print_left_out(diff, view, nr_more, nr_unsure, sink);
	table_free(table);
}

bool diff_print_heading(const struct diff *diff, const struct view *view, struct sink *sink)
{
	diff_print_machines(diff, view, sink);
	print_side(diff, &diff->old_side, view, "old", sink);
	print_side(diff, &diff->new_side, view, "new", sink);
	if (diff_is_none(diff)) {
		line_print(sink, view, STYLE_HEADING, "no change");
		return false;
	}
	print_total(diff, view, sink);
	print_factor(diff, view, sink);
	return true;
}

void diff_print_text(const struct diff *diff, const struct view *view,
		     const struct diff_limits *limits, struct sink *sink)
{
	if (!diff_print_heading(diff, view, sink) && !limits->unsure)
		return;
	line_print(sink, view, STYLE_PLAIN, "");
	print_rows(diff, view, limits, sink);
	diff_print_calls(diff, view, limits->rows, limits->unsure, sink);
	diff_print_note(diff, view, sink);
}
