// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/chain_text.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "calltree/chain.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "profile/profile.h"
#include "profile/slow_calls.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/table.h"

static const struct {
	const char *words; /* of the table */
	const char *name;  /* of JSON */
} states[CHAIN_STATE_COUNT] = {
	[CHAIN_RUNNING] = {"ran", "running"},
	[CHAIN_RUNNABLE] = {"waited for a CPU", "runnable"},
	[CHAIN_WAITING] = {"blocked", "blocked"},
	[CHAIN_UNKNOWN] = {"not known", "unknown"},
};

static const struct {
	const char *words;
	const char *name;
} links[CHAIN_LINK_COUNT] = {
	[CHAIN_BY_OWNER] = {"to the last owner that was seen of a lock", "owner"},
	[CHAIN_BY_END] = {"to a thread that ended", "end"},
	[CHAIN_BY_CHILD] = {"to a child process that ended", "child"},
	[CHAIN_BY_PEER] = {"to the other end of a pipe or socket", "peer"},
	[CHAIN_BY_WAKE] = {"to what made the call that ended the wait", "wake"},
	[CHAIN_BY_BIRTH] = {"to what had begun a thread or program", "birth"},
};

static const struct profile *profile_of(const struct chain *chain)
{
	return chain->selection->original->profile;
}

static void append_thread(struct buf *out, const struct chain *chain, uint32_t thread)
{
	const struct profile_thread *row = &profile_of(chain)->threads[thread];

	buf_printf(out, "%d %s", (int)row->tid, profile_str(profile_of(chain), row->name));
}

static void append_label(struct buf *out, const struct chain *chain, const struct chain_row *row,
			 enum name_style style)
{
	if (row->label != CHAIN_NO_LABEL)
		label_append_name(out, chain->selection->original, row->label, style);
}

static void append_waited(struct buf *out, const struct chain *chain, const struct chain_row *row)
{
	if (row->state == CHAIN_WAITING)
		waited_append(out, &chain->objects, profile_of(chain), &row->waited);
}

static void add_cell(struct table *table, enum style style, struct buf *text)
{
	table_add(table, style, buf_str(text));
	buf_clear(text);
}

static void add_row(struct table *table, const struct chain *chain, const struct chain_row *row,
		    const struct unit *unit, const struct view *view)
{
	struct buf text = {0};

	append_in_unit(&text, row->tally.weight, unit);
	add_cell(table, STYLE_PLAIN, &text);
	append_percent(&text, tally_percent(&row->tally, &chain->total));
	add_cell(table, STYLE_PLAIN, &text);
	buf_printf(&text, "%.1f", tally_interval(&row->tally, &chain->total));
	add_cell(table, STYLE_DIM, &text);
	append_thread(&text, chain, row->thread);
	add_cell(table, STYLE_PLAIN, &text);
	buf_append_str(&text, states[row->state].words);
	add_cell(table, row->state == CHAIN_RUNNING ? STYLE_PLAIN : STYLE_DIM, &text);
	append_label(&text, chain, row, view->names);
	add_cell(table, STYLE_PLAIN, &text);
	append_waited(&text, chain, row);
	add_cell(table, STYLE_PLAIN, &text);
	buf_release(&text);
}

static void append_links(struct buf *words, const struct chain *chain)
{
	const char *before = " It goes on ";

	for (size_t i = 0; i < CHAIN_LINK_COUNT; i++) {
		if (!chain->nr_links[i])
			continue;
		buf_printf(words, "%s%llu %s %s", before, (unsigned long long)chain->nr_links[i],
			   chain->nr_links[i] == 1 ? "time" : "times", links[i].words);
		before = ", ";
	}
	if (before[0] == ',')
		buf_append_str(words, ".");
}

static void print_notes(const struct chain *chain, size_t nr_left_out, const struct view *view,
			struct sink *sink)
{
	struct buf words = {0};

	sink_str(sink, "\n");
	if (nr_left_out) {
		buf_printf(&words, "%zu more rows: -n 0 shows all", nr_left_out);
		paragraph_print(view, "", buf_str(&words), sink);
		buf_clear(&words);
	}
	buf_append_str(&words, "the chain goes back in time from the end of ");
	if (chain->nr_calls)
		buf_printf(&words, "each of %llu slow calls of %s",
			   (unsigned long long)chain->nr_calls,
			   chain->selection->slow.calls->function);
	else
		append_thread(&words, chain, chain->thread);
	buf_append_str(&words, ".");
	append_links(&words, chain);
	buf_append_str(&words, " What ends the waits that are ‘blocked’ here is not known, or no "
			       "thread of this profile; 'report --wakers' tells more of them.");
	paragraph_print(view, "note: ", buf_str(&words), sink);
	buf_release(&words);
}

static size_t nr_shown(const struct chain *chain, uint64_t limit)
{
	return limit ? min_u64(limit, chain->nr) : chain->nr;
}

void chain_print_text(const struct chain *chain, uint64_t limit, const struct view *view,
		      struct sink *sink)
{
	struct unit unit = unit_chosen(view->unit, METRIC_ELAPSED,
				       chain->nr ? chain->rows[0].tally.weight : 0);
	struct buf heading = {0};
	struct table_column columns[] = {
		{.right = true},
		{.header = "%", .right = true},
		{.header = "±", .right = true},
		{.header = "thread", .flexible = true, .cut = CUT_END, .kept_columns = 12},
		{.header = "how"},
		{.header = "in function", .flexible = true, .cut = CUT_MIDDLE, .kept_columns = 20},
		{.header = "waited for", .flexible = true, .cut = CUT_MIDDLE, .kept_columns = 16},
	};
	struct table *table;

	if (!chain->nr) {
		sink_str(sink, "no samples\n");
		return;
	}
	buf_printf(&heading, "%s", unit.name);
	columns[0].header = buf_str(&heading);
	table = table_new(columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < nr_shown(chain, limit); i++)
		add_row(table, chain, &chain->rows[i], &unit, view);
	table_print(table, view, sink);
	print_notes(chain, chain->nr - nr_shown(chain, limit), view, sink);
	table_free(table);
	buf_release(&heading);
}

static void put_row(struct json *json, const struct chain *chain, const struct chain_row *row)
{
	const struct profile_thread *thread = &profile_of(chain)->threads[row->thread];
	struct buf text = {0};

	json_object_begin(json);
	json_key_u64(json, "tid", (uint64_t)thread->tid);
	json_key_str(json, "thread", profile_str(profile_of(chain), thread->name));
	json_key_str(json, "state", states[row->state].name);
	append_label(&text, chain, row, NAME_FULL);
	json_key_known_str(json, "function", buf_str(&text));
	buf_clear(&text);
	append_waited(&text, chain, row);
	json_key_known_str(json, "wait", buf_str(&text));
	json_key_u64(json, "elapsed_ns", row->tally.weight);
	json_key(json, "percent");
	json_double(json, tally_percent(&row->tally, &chain->total), 3);
	json_key(json, "ci");
	json_double(json, tally_interval(&row->tally, &chain->total), 3);
	json_key_u64(json, "samples", row->tally.samples);
	json_object_end(json);
	buf_release(&text);
}

void chain_print_json(const struct chain *chain, uint64_t limit, struct sink *sink)
{
	struct json json;

	json_init(&json, sink);
	json_object_begin(&json);
	json_key_str(&json, "metric", "elapsed");
	json_key_u64(&json, "total_ns", chain->total.weight);
	if (chain->nr_calls)
		json_key_u64(&json, "slow_calls", chain->nr_calls);
	json_key_object_begin(&json, "by_state");
	for (size_t i = 0; i < CHAIN_STATE_COUNT; i++)
		json_key_u64(&json, states[i].name, chain->states[i].weight);
	json_object_end(&json);
	json_key_object_begin(&json, "links");
	for (size_t i = 0; i < CHAIN_LINK_COUNT; i++)
		json_key_u64(&json, links[i].name, chain->nr_links[i]);
	json_object_end(&json);
	json_key_array_begin(&json, "rows");
	for (size_t i = 0; i < nr_shown(chain, limit); i++)
		put_row(&json, chain, &chain->rows[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}
