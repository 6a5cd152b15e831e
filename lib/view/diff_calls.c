// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison of exact counts as text. */
#include "view/diff_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "calltree/diff.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/per_call.h"
#include "calltree/weights.h"
#include "view/cut.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/per_call_text.h"
#include "view/table.h"

/* In the order of the cells of add_row(). */
static const struct table_column columns[] = {
	{.header = "old calls", .right = true},
	{.header = "new calls", .right = true},
	{.header = "change", .right = true, .drop = 1},
	{.header = "old/call", .right = true},
	{.header = "new/call", .right = true},
	{.header = "change %", .right = true},
	{.header = "\xc2\xb1", .right = true, .drop = 2},
	{.header = "function", .flexible = true, .cut = CUT_MIDDLE, .min_columns = 12, .share = 1},
};

static void add_count(struct table *table, uint64_t calls)
{
	struct buf text = {0};

	append_count(&text, calls);
	table_add(table, STYLE_PLAIN, buf_str(&text));
	buf_release(&text);
}

static void add_change(struct table *table, uint64_t before, uint64_t after)
{
	struct buf text = {0};

	if (before != after) {
		buf_append_str(&text, after > before ? "+" : "-");
		append_count(&text, after > before ? after - before : before - after);
	}
	table_add(table, after > before ? STYLE_HOT : STYLE_GOOD, buf_str(&text));
	buf_release(&text);
}

static void add_per_call(struct table *table, const struct view *view, bool known,
			 const struct per_call *per_call)
{
	struct buf text = {0};

	if (known)
		append_per_call(&text, per_call, view->unit);
	table_add(table, STYLE_PLAIN, buf_str(&text));
	buf_release(&text);
}

static enum style style_of_change(double percent, double half)
{
	if (fabs(percent) <= half)
		return STYLE_DIM;
	return percent > 0 ? STYLE_HOT : STYLE_GOOD;
}

static void add_change_of_time(struct table *table, const struct diff *diff,
			       const struct diff_row *row)
{
	struct buf change = {0}, interval = {0};
	double percent = 0, half = 0;

	if (diff_per_call_change(diff, row, &percent, &half)) {
		buf_printf(&change, "%+.1f", percent);
		buf_printf(&interval, "%.1f", half);
	}
	table_add(table, style_of_change(percent, half), buf_str(&change));
	table_add(table, STYLE_DIM, buf_str(&interval));
	buf_release(&change);
	buf_release(&interval);
}

static void add_row(struct table *table, const struct diff *diff, const struct view *view,
		    const struct diff_row *row)
{
	const struct diff_at *at = &row->new_at;
	const struct expansion *expansion = diff_weights(diff, at)->selection->expansion;
	uint64_t old_calls = diff_mean_calls(&diff->old_side, &row->old_calls);
	uint64_t new_calls = diff_mean_calls(&diff->new_side, &row->new_calls);
	struct per_call before, after;
	struct buf name = {0};

	add_count(table, old_calls);
	add_count(table, new_calls);
	add_change(table, old_calls, new_calls);
	add_per_call(table, view, diff_old_per_call(diff, row, &before), &before);
	add_per_call(table, view, diff_new_per_call(diff, row, &after), &after);
	add_change_of_time(table, diff, row);
	label_append_name(&name, expansion, at->label, view->names);
	table_add(table, STYLE_PLAIN, buf_str(&name));
	buf_release(&name);
}

/* Print how many more rows -n 0 and --all would show. */
static void print_left_out(const struct view *view, size_t nr_more, size_t nr_same,
			   struct sink *sink)
{
	struct buf text = {0};

	if (nr_more > 0) {
		append_count(&text, nr_more);
		buf_append_str(&text, nr_more == 1 ? " more row (-n 0 shows all)"
						   : " more rows (-n 0 shows all)");
	}
	if (nr_more > 0 && nr_same > 0)
		buf_append_str(&text, "; ");
	if (nr_same > 0) {
		append_count(&text, nr_same);
		buf_append_str(&text, nr_same == 1 ? " function" : " functions");
		buf_append_str(&text, " called as often, in the same time within sampling noise "
				      "(--all shows them)");
	}
	if (text.nr_bytes > 0)
		paragraph_print(view, "", buf_str(&text), sink);
	buf_release(&text);
}

/* The headers of times have the unit if the user chose one. */
static void head_columns(const struct view *view, struct table_column *headed, char (*texts)[24])
{
	const char *unit = per_call_unit_name(view->unit);

	memcpy(headed, columns, sizeof(columns));
	for (size_t i = 0; i < 2; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s%s%s", columns[3 + i].header,
			 *unit ? " " : "", unit);
		headed[3 + i].header = texts[i];
	}
}

void diff_print_calls(const struct diff *diff, const struct view *view, size_t limit,
		      bool unchanged, struct sink *sink)
{
	size_t nr_shown = 0, nr_more = 0, nr_same = 0;
	cleanup_free uint32_t *rows = NULL;
	size_t nr = diff_counted_rows(diff, &rows);
	struct table_column headed[ARRAY_SIZE(columns)];
	char texts[2][24];
	struct table *table;

	if (nr == 0 || diff->by != BY_FUNCTION)
		return;
	head_columns(view, headed, texts);
	table = table_new(headed, ARRAY_SIZE(columns));
	for (size_t i = 0; i < nr; i++) {
		const struct diff_row *row = &diff->rows[rows[i]];

		if (!unchanged && !diff_calls_changed(diff, row)) {
			nr_same++;
		} else if (limit && nr_shown == limit) {
			nr_more++;
		} else {
			add_row(table, diff, view, row);
			nr_shown++;
		}
	}
	line_print(sink, view, STYLE_PLAIN, "");
	line_print(sink, view, STYLE_HEADING, "exact counts and time per call");
	if (nr_shown > 0)
		table_print(table, view, sink);
	print_left_out(view, nr_more, nr_same, sink);
	table_free(table);
}
