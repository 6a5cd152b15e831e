// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/wakers_text.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/wakers.h"
#include "profile/profile.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/table.h"

static const struct {
	const char *words; /* of the table */
	const char *name;  /* of JSON */
} hows[WAKER_HOW_COUNT] = {
	[WAKER_WAKE] = {"woke it", "wake"},    [WAKER_OWNER] = {"had the lock", "owner"},
	[WAKER_END] = {"ended", "end"},	       [WAKER_PEER] = {"other end", "peer"},
	[WAKER_CHILD] = {"child", "child"},    [WAKER_TIME] = {"time was up", "time"},
	[WAKER_SIGNAL] = {"signal", "signal"}, [WAKER_UNKNOWN] = {"", "unknown"},
};

static const struct profile *profile_of(const struct wakers *wakers)
{
	return wakers->selection->expansion->profile;
}

static const struct profile_thread *thread_of(const struct wakers *wakers,
					      const struct waker *waker)
{
	return waker->thread == THREAD_NONE.v ? NULL : &profile_of(wakers)->threads[waker->thread];
}

static void append_waker(struct buf *out, const struct wakers *wakers, const struct waker *waker)
{
	const struct profile *profile = profile_of(wakers);
	const struct profile_thread *thread = thread_of(wakers, waker);

	switch (waker->how) {
	case WAKER_WAKE:
	case WAKER_OWNER:
	case WAKER_END:
		buf_printf(out, "%d %s", (int)thread->tid, profile_str(profile, thread->name));
		break;
	case WAKER_PEER:
		buf_append_str(
			out, profile_str(profile, profile_waits(profile)->rows[waker->peer].peer));
		break;
	case WAKER_CHILD:
		buf_append_str(out, waker->child.v == STR_EMPTY.v
					    ? "[a child process]"
					    : profile_str(profile, waker->child));
		break;
	case WAKER_TIME:
		buf_append_str(out, "[the clock]");
		break;
	case WAKER_SIGNAL:
		buf_append_str(out, "[a signal]");
		break;
	case WAKER_UNKNOWN:
		buf_append_str(out, "[unknown]");
		break;
	case WAKER_HOW_COUNT:
		break;
	}
}

static void append_how(struct buf *out, const struct waker *waker)
{
	buf_append_str(out, hows[waker->how].words);
	if (waker->is_guess)
		buf_append_byte(out, '?');
}

static void append_label(struct buf *out, const struct wakers *wakers, uint32_t label,
			 enum name_style style)
{
	if (label != WAKER_NO_LABEL)
		label_append_name(out, wakers->selection->expansion, label, style);
}

static void append_kind(struct buf *out, const struct wakers *wakers, const struct waker_wait *wait)
{
	const struct blame *blame = wakers_blame(wakers, wait);

	if (blame && blame_is_lock(blame, wait->waited.number))
		buf_append_str(out, lock_kind_name(blame_object(blame, wait->waited.number)->kind));
}

static void add_cell(struct table *table, enum style style, struct buf *text)
{
	table_add(table, style, buf_str(text));
	buf_clear(text);
}

static void add_numbers(struct table *table, const struct wakers *wakers, const struct tally *tally,
			const struct unit *unit, enum style style)
{
	struct buf text = {0};

	append_in_unit(&text, tally->weight, unit);
	add_cell(table, style, &text);
	append_percent(&text, tally_percent(tally, &wakers->total));
	add_cell(table, style, &text);
	buf_printf(&text, "%.1f", tally_interval(tally, &wakers->total));
	add_cell(table, STYLE_DIM, &text);
	buf_release(&text);
}

static void add_wait(struct table *table, const struct wakers *wakers,
		     const struct waker_wait *wait, const struct unit *unit,
		     const struct view *view)
{
	struct buf text = {0};

	add_numbers(table, wakers, &wait->tally, unit, STYLE_HEADING);
	wakers_append_wait(&text, wakers, wait);
	add_cell(table, STYLE_HEADING, &text);
	append_kind(&text, wakers, wait);
	add_cell(table, STYLE_DIM, &text);
	add_cell(table, STYLE_PLAIN, &text);
	for (size_t i = wait->first; i < wait->first + wait->nr; i++) {
		const struct waker *waker = &wakers->rows[i];

		add_numbers(table, wakers, &waker->tally, unit, STYLE_PLAIN);
		buf_append_str(&text, "  ");
		append_waker(&text, wakers, waker);
		add_cell(table, waker->how == WAKER_UNKNOWN ? STYLE_DIM : STYLE_PLAIN, &text);
		append_how(&text, waker);
		add_cell(table, STYLE_PLAIN, &text);
		append_label(&text, wakers, waker->label, view->names);
		add_cell(table, STYLE_PLAIN, &text);
	}
	buf_release(&text);
}

static bool has_how(const struct wakers *wakers, enum waker_how how)
{
	for (size_t i = 0; i < wakers->nr; i++) {
		if (wakers->rows[i].how == how)
			return true;
	}
	return false;
}

static void print_notes(const struct wakers *wakers, size_t nr_left_out, const struct view *view,
			struct sink *sink)
{
	struct buf words = {0};

	sink_str(sink, "\n");
	if (nr_left_out) {
		buf_printf(&words, "%zu more waits: -n 0 shows all", nr_left_out);
		paragraph_print(view, "", buf_str(&words), sink);
		buf_clear(&words);
	}
	append_percent(&words, tally_percent(&wakers->unknown, &wakers->total));
	buf_append_str(&words, "% of the time was ended by something that is not known");
	if (has_how(wakers, WAKER_OWNER))
		buf_append_str(&words, "; 'had the lock' is the last owner that was seen, which "
				       "another thread may have followed");
	paragraph_print(view, "note: ", buf_str(&words), sink);
	buf_release(&words);
}

static size_t nr_shown(const struct wakers *wakers, uint64_t limit)
{
	return limit ? min_u64(limit, wakers->nr_waits) : wakers->nr_waits;
}

void wakers_print_text(const struct wakers *wakers, uint64_t limit, const struct view *view,
		       struct sink *sink)
{
	struct unit unit = unit_chosen(view->unit, METRIC_BLOCKED,
				       wakers->nr_waits ? wakers->waits[0].tally.weight : 0);
	struct buf heading = {0};
	struct table_column columns[] = {
		{.right = true},
		{.header = "%", .right = true},
		{.header = "±", .right = true},
		{.header = "wait, ended by",
		 .flexible = true,
		 .cut = CUT_MIDDLE,
		 .kept_columns = 30},
		{.header = "how"},
		{.header = "in function", .flexible = true, .cut = CUT_MIDDLE, .drop = 1},
	};
	struct table *table;

	buf_printf(&heading, "blocked %s", unit.name);
	columns[0].header = buf_str(&heading);
	table = table_new(columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < nr_shown(wakers, limit); i++)
		add_wait(table, wakers, &wakers->waits[i], &unit, view);
	table_print(table, view, sink);
	print_notes(wakers, wakers->nr_waits - nr_shown(wakers, limit), view, sink);
	table_free(table);
	buf_release(&heading);
}

static void put_numbers(struct json *json, const struct wakers *wakers, const struct tally *tally)
{
	json_key_u64(json, "blocked_ns", tally->weight);
	json_key(json, "percent");
	json_double(json, tally_percent(tally, &wakers->total), 3);
	json_key(json, "ci");
	json_double(json, tally_interval(tally, &wakers->total), 3);
	json_key_u64(json, "samples", tally->samples);
}

static void put_waker(struct json *json, const struct wakers *wakers, const struct waker *waker)
{
	const struct profile_thread *thread = thread_of(wakers, waker);
	struct buf text = {0};

	json_object_begin(json);
	json_key_str(json, "how", hows[waker->how].name);
	if (thread) {
		json_key_u64(json, "tid", (uint64_t)thread->tid);
		json_key_str(json, "thread", profile_str(profile_of(wakers), thread->name));
	}
	if (waker->how == WAKER_OWNER)
		json_key_bool(json, "guess", waker->is_guess);
	if (waker->how == WAKER_PEER) {
		append_waker(&text, wakers, waker);
		json_key_str(json, "peer", buf_str(&text));
		buf_clear(&text);
	}
	if (waker->how == WAKER_CHILD)
		json_key_known_str(json, "child", profile_str(profile_of(wakers), waker->child));
	append_label(&text, wakers, waker->label, NAME_FULL);
	json_key_known_str(json, "function", buf_str(&text));
	put_numbers(json, wakers, &waker->tally);
	json_object_end(json);
	buf_release(&text);
}

static void put_wait(struct json *json, const struct wakers *wakers, const struct waker_wait *wait)
{
	struct buf text = {0};

	json_object_begin(json);
	wakers_append_wait(&text, wakers, wait);
	json_key_str(json, "wait", buf_str(&text));
	buf_clear(&text);
	append_kind(&text, wakers, wait);
	json_key_known_str(json, "kind", buf_str(&text));
	put_numbers(json, wakers, &wait->tally);
	json_key_array_begin(json, "ended_by");
	for (size_t i = wait->first; i < wait->first + wait->nr; i++)
		put_waker(json, wakers, &wakers->rows[i]);
	json_array_end(json);
	json_object_end(json);
	buf_release(&text);
}

void wakers_print_json(const struct wakers *wakers, uint64_t limit, struct sink *sink)
{
	struct json json;

	json_init(&json, sink);
	json_object_begin(&json);
	json_key_str(&json, "metric", "blocked");
	json_key_u64(&json, "total_ns", wakers->total.weight);
	json_key_u64(&json, "unknown_ns", wakers->unknown.weight);
	json_key_array_begin(&json, "waits");
	for (size_t i = 0; i < nr_shown(wakers, limit); i++)
		put_wait(&json, wakers, &wakers->waits[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}
