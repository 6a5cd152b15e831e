// SPDX-License-Identifier: GPL-2.0-or-later
/* The gain of a program from each function, if that were faster. */
#include "view/whatif_text.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/sink.h"
#include "view/cut.h"
#include "view/line.h"
#include "view/number.h"
#include "view/style.h"
#include "view/table.h"
#include "view/whatif_facts.h"
#include "view/whatif_words.h"
#include "whatif/plan.h"

static void add_cell(struct table *table, enum style style, struct buf *text)
{
	table_add(table, style, buf_str(text));
	buf_clear(text);
}

/* "+33.1%" and "± 2.0", each as a cell. */
static void add_gain(struct table *table, const struct whatif_gain *gain)
{
	struct buf text = {0};

	buf_append_str(&text, gain->is_known ? " " : "-");
	whatif_append_gain(&text, gain);
	add_cell(table, whatif_gain_style(gain), &text);
	whatif_append_half(&text, gain);
	add_cell(table, STYLE_DIM, &text);
	buf_release(&text);
}

static void add_row(struct table *table, const struct whatif_row *row,
		    const struct whatif_function *function)
{
	struct whatif_verdict verdict = whatif_function_verdict(function);
	char words[40];
	struct buf text = {0};

	table_add(table, STYLE_PLAIN, row->name);
	append_percent(&text, row->percent);
	buf_append_byte(&text, '%');
	add_cell(table, style_of_percent(row->percent), &text);
	for (size_t i = 0; i < WHATIF_NR_SHOWN; i++) {
		struct whatif_gain gain = whatif_shown_gain(function, i);

		add_gain(table, &gain);
	}
	whatif_verdict_text(&verdict, words, sizeof(words));
	table_add(table, STYLE_PLAIN, words);
	buf_release(&text);
}

static void print_line(struct sink *sink, const struct view *view, enum style style,
		       const char *text)
{
	struct buf shown = {0}, cut = {0};

	escape_terminal(&shown, text);
	append_cut(&cut, buf_str(&shown), view->columns, CUT_END);
	line_print(sink, view, style, buf_str(&cut));
	buf_release(&shown);
	buf_release(&cut);
}

static void print_notes(const struct whatif_facts *facts, const struct view *view,
			struct sink *sink)
{
	struct buf text = {0};
	char *line, *rest;

	whatif_append_notes(&text, facts);
	buf_append_byte(&text, 0);
	rest = (char *)text.bytes;
	sink_str(sink, "\n");
	while (*(line = strsep(&rest, "\n")))
		print_line(sink, view, STYLE_DIM, line);
	buf_release(&text);
}

void whatif_print_text(const struct whatif_facts *facts, const struct view *view, struct sink *sink)
{
	/* A heading above two columns: "25% faster". */
	static const struct table_column columns[] = {
		{.header = "function",
		 .flexible = true,
		 .cut = CUT_MIDDLE,
		 .min_columns = 12,
		 .share = 1,
		 .kept_columns = 16},
		{.header = "CPU time", .right = true},
		{.header = "25%", .right = true},
		{.header = "faster", .right = true, .drop = 2},
		{.header = "50%", .right = true},
		{.header = "faster", .right = true, .drop = 1},
		{.header = "at most", .right = true},
		{.header = "", .right = true, .drop = 3},
		{.header = "verdict"},
	};
	struct table *table = table_new(columns, ARRAY_SIZE(columns));
	struct buf text = {0};

	whatif_append_heading(&text, facts);
	print_line(sink, view, STYLE_HEADING, buf_str(&text));
	sink_str(sink, "\n");
	for (size_t i = 0; i < facts->nr; i++)
		add_row(table, &facts->rows[i], &facts->functions[i]);
	table_print(table, view, sink);
	table_free(table);
	print_notes(facts, view, sink);
	buf_release(&text);
}

static void put_gain(struct json *json, const struct whatif_gain *gain)
{
	json_key(json, "gain_pct");
	if (gain->is_known)
		json_double(json, gain->percent, 2);
	else
		json_null(json);
	json_key(json, "ci_pct");
	if (gain->is_known)
		json_double(json, gain->half_percent, 2);
	else
		json_null(json);
}

static void put_row(struct json *json, const struct whatif_row *row,
		    const struct whatif_function *function)
{
	struct whatif_verdict verdict = whatif_function_verdict(function);
	char words[40];

	json_object_begin(json);
	json_key_str(json, "function", row->name);
	json_key_known_str(json, "location", row->location);
	json_key(json, "cpu_pct");
	json_double(json, row->percent, 2);
	json_key(json, "cpu_ci_pct");
	json_double(json, row->half_percent, 2);
	json_key_array_begin(json, "speeds");
	for (size_t i = 0; i < WHATIF_NR_SPEEDS; i++) {
		struct whatif_gain gain = whatif_point_gain(&function->points[i]);

		json_object_begin(json);
		json_key(json, "faster_pct");
		json_double(json, 100 * whatif_speeds[i], 0);
		put_gain(json, &gain);
		json_key_u64(json, "trials", function->points[i].nr);
		if (function->points[i].is_of_time) {
			json_key(json, "more_requests_pct");
			json_double(json, whatif_load_percent(&function->points[i]), 2);
		}
		json_object_end(json);
	}
	json_array_end(json);
	json_key_object_begin(json, "most");
	put_gain(json, &verdict.most);
	json_object_end(json);
	whatif_verdict_text(&verdict, words, sizeof(words));
	json_key_str(json, "verdict", words);
	json_object_end(json);
}

void whatif_print_json(const struct whatif_facts *facts, struct sink *sink)
{
	struct json json;

	json_init(&json, sink);
	json_object_begin(&json);
	json_key_u64(&json, "version", 1);
	json_key_str(&json, "progress", facts->progress);
	json_key(&json, "rate_per_s");
	json_double(&json, facts->rate, 3);
	if (facts->run_ns)
		json_key_u64(&json, "run_ns", facts->run_ns);
	if (facts->time_ns > 0) {
		json_key(&json, "mean_ns");
		json_double(&json, facts->time_ns, 0);
		json_key_u64(&json, "drifting_trials", whatif_nr_drifting(facts));
	}
	json_key_u64(&json, "elapsed_ns", facts->elapsed_ns);
	json_key(&json, "held_pct");
	json_double(&json, facts->slower_percent, 2);
	json_key_u64(&json, "threads", facts->nr_threads);
	json_key_u64(&json, "trials", facts->nr_trials);
	json_key_u64(&json, "late_trials", whatif_nr_late(facts));
	json_key_u64(&json, "holds", facts->nr_holds);
	json_key_u64(&json, "sleeps", facts->nr_sleeps);
	json_key_u64(&json, "undecided_sleeps", facts->nr_undecided);
	json_key(&json, "not_held_pct");
	json_double(&json, facts->spared_percent, 2);
	json_key_bool(&json, "cut_short", facts->cut_short != NULL);
	json_key_array_begin(&json, "functions");
	for (size_t i = 0; i < facts->nr; i++)
		put_row(&json, &facts->rows[i], &facts->functions[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}

static void append_csv_gain(struct buf *line, const struct whatif_gain *gain)
{
	if (gain->is_known)
		buf_printf(line, ",%.2f,%.2f", gain->percent, gain->half_percent);
	else
		buf_append_str(line, ",,");
}

/* A line for each function at each speed. */
void whatif_print_csv(const struct whatif_facts *facts, struct sink *sink)
{
	struct buf line = {0};

	sink_str(sink, "function,location,cpu_pct,cpu_ci_pct,faster_pct,gain_pct,ci_pct,trials,"
		       "verdict\n");
	for (size_t i = 0; i < facts->nr * WHATIF_NR_SPEEDS; i++) {
		const struct whatif_row *row = &facts->rows[i / WHATIF_NR_SPEEDS];
		const struct whatif_function *function = &facts->functions[i / WHATIF_NR_SPEEDS];
		const struct whatif_point *point = &function->points[i % WHATIF_NR_SPEEDS];
		struct whatif_verdict verdict = whatif_function_verdict(function);
		struct whatif_gain gain = whatif_point_gain(point);
		char words[40];

		escape_csv(&line, row->name);
		buf_append_byte(&line, ',');
		escape_csv(&line, row->location);
		buf_printf(&line, ",%.2f,%.2f,%.0f", row->percent, row->half_percent,
			   100 * whatif_speeds[i % WHATIF_NR_SPEEDS]);
		append_csv_gain(&line, &gain);
		whatif_verdict_text(&verdict, words, sizeof(words));
		buf_printf(&line, ",%zu,%s\n", point->nr, words);
		sink_write(sink, line.bytes, line.nr_bytes);
		buf_clear(&line);
	}
	buf_release(&line);
}
