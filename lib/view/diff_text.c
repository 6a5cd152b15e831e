// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison of profiles as text. */
#include "view/diff_text.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "calltree/diff.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "view/cut.h"
#include "view/diff_calls.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/summary.h"
#include "view/table.h"

/* The profile that has a row's function: the new one if both have it. */
struct known {
	const struct expansion *expansion;
	uint32_t label;
};

static struct known known_side(const struct diff *diff, const struct diff_row *row)
{
	bool is_new = row->new_label != DIFF_NO_LABEL;
	const struct weights *weights = is_new ? diff->new_weights : diff->old_weights;

	return (struct known){.expansion = weights->selection->expansion,
			      .label = is_new ? row->new_label : row->old_label};
}

static bool is_shown(const struct diff_row *row, const struct diff_limits *limits)
{
	return limits->unsure || diff_row_is_sure(row);
}

/* ", 988 samples", ", 77 blocks recorded"; where those are all, many may be in one row of the file.
 */
static void append_observed(struct buf *out, const struct weights *weights)
{
	const struct tally *total = &weights->total;

	buf_append_str(out, ", ");
	if (!metric_is_memory(weights->metric)) {
		append_weight(out, METRIC_SAMPLES, total->samples);
		return;
	}
	append_weight(out, METRIC_ALLOCS,
		      tally_is_exact(total) ? tally_blocks(total) : total->samples);
	buf_append_str(out, " recorded");
}

static void print_side(const struct weights *weights, const struct view *view, const char *name,
		       struct sink *sink)
{
	const struct profile *profile = weights->selection->expansion->profile;
	struct buf title = {0}, text = {0}, shown = {0};

	buf_printf(&text, "%s: ", name);
	append_weight(&text, weights->metric, weights->total.weight);
	buf_append_str(&text, summary_metric_words(weights->metric));
	if (weights->metric != METRIC_SAMPLES)
		append_observed(&text, weights);
	buf_append_str(&text, ": ");
	profile_append_title(&title, profile);
	escape_terminal(&text, buf_str(&title));
	buf_release(&title);
	append_cut(&shown, buf_str(&text), view->columns, CUT_END);
	line_print(sink, view, STYLE_PLAIN, buf_str(&shown));
	buf_release(&text);
	buf_release(&shown);
}

static void print_total(const struct diff *diff, const struct view *view, struct sink *sink)
{
	uint64_t before = diff->old_weights->total.weight;
	uint64_t after = diff->new_weights->total.weight;
	struct buf text = {0};

	if (diff->mode == DIFF_SHARES) {
		line_print(sink, view, STYLE_HEADING,
			   metric_is_memory(diff->old_weights->metric)
				   ? "comparing shares of the memory, in percentage points"
				   : "comparing shares of the time, in percentage points");
		return;
	}
	if (after == before) {
		buf_append_str(&text, "total: unchanged");
	} else {
		buf_append_str(&text, after < before ? "total: -" : "total: +");
		append_weight(&text, diff->old_weights->metric,
			      after < before ? before - after : after - before);
		buf_printf(&text, " (%+.1f%%)", diff_total_change(diff));
	}
	line_print(sink, view, STYLE_HEADING, buf_str(&text));
	buf_release(&text);
}

#define NR_COLUMNS 7

static const struct table_column columns[NR_COLUMNS] = {
	{.header = "change %", .right = true},
	{.header = "\xc2\xb1", .right = true},
	{.header = "old", .right = true},
	{.header = "new", .right = true},
	{.header = "", .drop = 1},
	{.header = "function",
	 .flexible = true,
	 .cut = CUT_MIDDLE,
	 .min_columns = 12,
	 .share = 3,
	 .kept_columns = 32},
	{.header = "module", .flexible = true, .cut = CUT_END, .min_columns = 6, .share = 1},
};

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

/* A side in the unit of the table, or as a share where shares are compared. */
static void add_amount(struct table *table, const struct diff *diff, const struct tally *tally,
		       const struct tally *all, const struct unit *unit)
{
	struct buf text = {0};

	if (diff->mode == DIFF_SHARES)
		append_percent(&text, tally_percent(tally, all));
	else
		append_in_unit(&text, tally->weight, unit);
	table_add(table, STYLE_PLAIN, buf_str(&text));
	buf_release(&text);
}

/* The word for code that is in one of the two profiles only. */
static const char *presence_word(const struct diff_row *row, const struct module *module)
{
	if (!module)
		return "";
	if (row->old_label == DIFF_NO_LABEL)
		return "new";
	return row->new_label == DIFF_NO_LABEL ? "gone" : "";
}

static void add_row(struct table *table, const struct diff *diff, const struct view *view,
		    const struct unit *unit, const struct diff_row *row)
{
	struct known known = known_side(diff, row);
	const struct module *module = label_module(known.expansion, known.label);
	struct buf name = {0};

	add_number(table, style_of_change(row), true, row->change);
	add_number(table, STYLE_DIM, false, row->half);
	add_amount(table, diff, &row->old_self, &diff->old_weights->total, unit);
	add_amount(table, diff, &row->new_self, &diff->new_weights->total, unit);
	table_add(table, STYLE_SPECIAL, presence_word(row, module));
	label_append_name(&name, known.expansion, known.label, view->names);
	table_add(table, STYLE_PLAIN, buf_str(&name));
	table_add(table, STYLE_DIM, module ? module_short_name(module) : "");
	buf_release(&name);
}

static struct unit unit_of(const struct diff *diff, const struct view *view)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < diff->nr; i++) {
		const struct diff_row *row = &diff->rows[i];

		if (row->old_self.weight > largest)
			largest = row->old_self.weight;
		if (row->new_self.weight > largest)
			largest = row->new_self.weight;
	}
	return unit_chosen(view->unit, diff->old_weights->metric, largest);
}

/* The headers of the two sides say their unit. */
static void head_columns(const struct diff *diff, const struct unit *unit,
			 struct table_column *headed, char (*texts)[16])
{
	const char *name = diff->mode == DIFF_SHARES ? "%" : unit->name;

	memcpy(headed, columns, sizeof(columns));
	for (size_t i = 0; i < 2; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s%s%s", columns[2 + i].header,
			 *name ? " " : "", name);
		headed[2 + i].header = texts[i];
	}
}

static void print_left_out(const struct view *view, size_t nr_more, size_t nr_unsure,
			   struct sink *sink)
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
		append_count(&text, nr_unsure);
		buf_append_str(&text, nr_unsure == 1 ? " function" : " functions");
		buf_append_str(&text, " changed within sampling noise (--all shows them)");
	}
	if (text.nr_bytes > 0)
		paragraph_print(view, "", buf_str(&text), sink);
	buf_release(&text);
}

static void print_rows(const struct diff *diff, const struct view *view,
		       const struct diff_limits *limits, struct sink *sink)
{
	struct unit unit = unit_of(diff, view);
	struct table_column headed[NR_COLUMNS];
	char texts[2][16];
	size_t nr_shown = 0, nr_more = 0, nr_unsure = 0;
	struct table *table;

	head_columns(diff, &unit, headed, texts);
	table = table_new(headed, NR_COLUMNS);
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
	print_left_out(view, nr_more, nr_unsure, sink);
	table_free(table);
}

void diff_print_text(const struct diff *diff, const struct view *view,
		     const struct diff_limits *limits, struct sink *sink)
{
	print_side(diff->old_weights, view, "old", sink);
	print_side(diff->new_weights, view, "new", sink);
	if (diff_is_none(diff)) {
		line_print(sink, view, STYLE_HEADING, "no change");
		if (!limits->unsure)
			return;
	} else {
		print_total(diff, view, sink);
	}
	line_print(sink, view, STYLE_PLAIN, "");
	print_rows(diff, view, limits, sink);
	diff_print_calls(diff, view, limits->rows, limits->unsure, sink);
}
