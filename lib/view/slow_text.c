// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/slow_text.h"

#include <math.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/slow_difference.h"
#include "profile/profile.h"
#include "profile/slow_calls.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/table.h"

/* Rows of less time in both kinds of calls are left out, unless all are asked for. */
#define LEAST_SHARE 0.001

static const char *const kind_names[SLOW_KIND_COUNT] = {"on a CPU", "waiting for a CPU", "blocked"};

static const struct expansion *expansion_of(const struct slow_difference *difference)
{
	return difference->selection->expansion;
}

static void append_time_text(struct buf *out, const struct view *view, double ns)
{
	const struct unit unit = unit_of_time(view->unit, ns);

	append_time(out, ns, &unit);
	buf_printf(out, " %s", unit.name);
}

static void append_function(struct buf *out, const struct slow_difference *difference,
			    const struct slow_row *row, enum name_style style)
{
	if (row->label != LABEL_OF_NONE)
		label_append_name(out, expansion_of(difference), row->label, style);
}

static bool has_object(const struct slow_row *row)
{
	return row->waited.kind != WAITED_CALL;
}

static void append_object(struct buf *out, const struct slow_difference *difference,
			  const struct slow_row *row)
{
	if (has_object(row))
		waited_append(out, &difference->objects, expansion_of(difference)->profile,
			      &row->waited);
}

static void append_what(struct buf *out, const struct slow_difference *difference,
			const struct slow_row *row, enum name_style style)
{
	if (row->is_total) {
		buf_append_str(out, kind_names[row->kind]);
		return;
	}
	buf_append_str(out, "  ");
	append_object(out, difference, row);
	if (has_object(row) && row->label != LABEL_OF_NONE)
		buf_append_str(out, " in ");
	append_function(out, difference, row, style);
	if (!has_object(row) && row->label == LABEL_OF_NONE)
		buf_append_str(out, "[unknown]");
}

static void add_cell(struct table *table, enum style style, struct buf *text)
{
	table_add(table, style, buf_str(text));
	buf_clear(text);
}

static void add_row(struct table *table, const struct slow_difference *difference,
		    const struct slow_row *row, const struct view *view)
{
	struct buf text = {0};

	for (int i = 0; i < SLOW_SIDES; i++) {
		const struct slow_share *share = &row->shares[i];

		append_percent(&text, 100 * share->share);
		buf_append_str(&text, "%");
		add_cell(table, row->is_sure && i == SLOW_CALLS ? STYLE_HOT : STYLE_PLAIN, &text);
		buf_printf(&text, "±%.1f", 100 * share->half);
		add_cell(table, STYLE_DIM, &text);
	}
	for (int i = 0; i < SLOW_SIDES; i++) {
		append_time_text(&text, view, row->shares[i].call_ns);
		add_cell(table, STYLE_PLAIN, &text);
	}
	append_what(&text, difference, row, view->names);
	add_cell(table, row->is_total ? STYLE_HEADING : STYLE_PLAIN, &text);
	buf_release(&text);
}

static void append_calls(struct buf *out, const struct slow_difference *difference,
			 enum slow_side side)
{
	const struct slow_sums *sums = &difference->sums[side];

	append_count(out, sums->nr_sampled);
	buf_append_str(out, " of ");
	append_count(out, sums->nr_calls);
}

static void print_head(const struct slow_difference *difference, const struct view *view,
		       struct sink *sink)
{
	const struct slow_calls *slow = difference->selection->slow.calls;
	const struct slow_sums *sums = difference->sums;
	struct buf words = {0};

	append_count(&words, slow->nr_known);
	buf_append_str(&words, " of ");
	append_count(&words, slow->nr_all);
	buf_append_str(&words, " calls took ");
	append_time_text(&words, view, (double)slow->least_ns);
	buf_append_str(&words, " or longer");
	if (slow->percent > 0)
		buf_printf(&words, " (p%g)", slow->percent);
	buf_append_str(&words, ", ");
	append_time_text(&words, view, sums[SLOW_CALLS].call_ns);
	buf_append_str(&words, " in the mean, and the others ");
	append_time_text(&words, view, sums[OTHER_CALLS].call_ns);
	buf_append_str(&words, ". ");
	append_calls(&words, difference, SLOW_CALLS);
	buf_append_str(&words, " slow calls had a sample, and about ");
	append_calls(&words, difference, OTHER_CALLS);
	buf_append_str(&words, " others: by these is ±");
	paragraph_print(view, "", buf_str(&words), sink);
	sink_str(sink, "\n");
	buf_release(&words);
}

static void print_note(const struct slow_difference *difference, const struct view *view,
		       struct sink *sink)
{
	const struct slow_calls *slow = difference->selection->slow.calls;
	struct buf words = {0};

	/* The number of all is known by ranges of lengths only. */
	if (slow->nr_slow <= slow->nr_known + slow->nr_known / 20 + 1)
		return;
	buf_append_str(&words, "when some ");
	append_count(&words, slow->nr_slow - slow->nr_known);
	buf_append_str(&words,
		       " more such calls were is not recorded: they pass for others. 'record "
		       "--spans FUNC>TIME' says from the beginning what is slow");
	sink_str(sink, "\n");
	paragraph_print(view, "note: ", buf_str(&words), sink);
	buf_release(&words);
}

static bool is_shown(const struct slow_row *row, uint64_t number, uint64_t limit)
{
	return row->is_total || !limit ||
	       (number <= limit && (row->shares[SLOW_CALLS].share >= LEAST_SHARE ||
				    row->shares[OTHER_CALLS].share >= LEAST_SHARE));
}

void slow_print_text(const struct slow_difference *difference, uint64_t limit,
		     const struct view *view, struct sink *sink)
{
	static const struct table_column columns[] = {
		{.header = "slow", .right = true},
		{.header = ""},
		{.header = "others", .right = true},
		{.header = ""},
		{.header = "slow call", .right = true},
		{.header = "other call", .right = true},
		{.header = "where", .flexible = true, .cut = CUT_MIDDLE, .kept_columns = 30},
	};
	struct table *table = table_new(columns, ARRAY_SIZE(columns));
	uint64_t number = 0;

	print_head(difference, view, sink);
	for (size_t i = 0; i < difference->nr; i++) {
		const struct slow_row *row = &difference->rows[i];

		number = row->is_total ? 0 : number + 1;
		if (is_shown(row, number, limit))
			add_row(table, difference, row, view);
	}
	table_print(table, view, sink);
	print_note(difference, view, sink);
	table_free(table);
}

static void put_side(struct json *json, const char *key, const struct slow_sums *sums)
{
	json_key(json, key);
	json_object_begin(json);
	json_key_u64(json, "calls", sums->nr_calls);
	json_key(json, "mean_ns");
	json_double(json, sums->call_ns, 1);
	json_key_u64(json, "calls_with_samples", sums->nr_sampled);
	json_object_end(json);
}

static void put_share(struct json *json, const char *key, const struct slow_share *share)
{
	json_key(json, key);
	json_object_begin(json);
	json_key(json, "percent");
	json_double(json, 100 * share->share, 3);
	json_key(json, "ci");
	json_double(json, 100 * share->half, 3);
	json_key(json, "call_ns");
	json_double(json, share->call_ns, 1);
	json_object_end(json);
}

static void put_row(struct json *json, const struct slow_difference *difference,
		    const struct slow_row *row)
{
	static const char *const states[SLOW_KIND_COUNT] = {"cpu", "runq", "blocked"};
	struct buf text = {0};

	json_object_begin(json);
	json_key_str(json, "state", states[row->kind]);
	json_key_bool(json, "whole_state", row->is_total);
	append_function(&text, difference, row, NAME_FULL);
	json_key_known_str(json, "function", buf_str(&text));
	buf_clear(&text);
	append_object(&text, difference, row);
	json_key_known_str(json, "object", buf_str(&text));
	put_share(json, "slow", &row->shares[SLOW_CALLS]);
	put_share(json, "others", &row->shares[OTHER_CALLS]);
	json_key_bool(json, "sure", row->is_sure);
	json_object_end(json);
	buf_release(&text);
}

void slow_print_json(const struct slow_difference *difference, struct sink *sink)
{
	const struct slow_calls *slow = difference->selection->slow.calls;
	struct json json;

	json_init(&json, sink);
	json_object_begin(&json);
	json_key_str(&json, "function", slow->function);
	json_key_u64(&json, "least_ns", slow->least_ns);
	json_key_u64(&json, "calls_as_long", slow->nr_slow);
	put_side(&json, "slow", &difference->sums[SLOW_CALLS]);
	put_side(&json, "others", &difference->sums[OTHER_CALLS]);
	json_key_array_begin(&json, "rows");
	for (size_t i = 0; i < difference->nr; i++)
		put_row(&json, difference, &difference->rows[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}
