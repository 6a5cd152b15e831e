// SPDX-License-Identifier: GPL-2.0-or-later
/* Timed calls, as a table and as JSON. */
#include "view/spans_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "profile/profile.h"
#include "profile/slow_calls.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/table.h"

/* Lengths have one column, or row, for each doubling. */
#define DOUBLINGS 64

/* The calls of a function in a process. */
struct calls {
	const struct profile_span *span;
	uint64_t nr_begun, nr_ended, total_ns;
	struct profile_span_sum longest;
	struct profile_span_length *lengths; /* owned: by least_ns, each once */
	size_t nr_lengths, cap_lengths;
};

struct all_calls {
	struct calls *at; /* owned */
	size_t nr;
};

static int compare_lengths(const void *left, const void *right)
{
	const struct profile_span_length *a = left, *b = right;

	return (a->least_ns > b->least_ns) - (a->least_ns < b->least_ns);
}

/*
 * The speed of the clock is known a bit better each time: rows that lie half or more in the one
 * before are of the same lengths.
 */
static void join_lengths(struct calls *calls)
{
	size_t nr = 0;

	if (calls->nr_lengths)
		qsort(calls->lengths, calls->nr_lengths, sizeof(*calls->lengths), compare_lengths);
	for (size_t i = 0; i < calls->nr_lengths; i++) {
		const struct profile_span_length *row = &calls->lengths[i];
		struct profile_span_length *last = nr ? &calls->lengths[nr - 1] : NULL;

		calls->nr_ended += row->nr;
		if (last && row->least_ns + (row->end_ns - row->least_ns) / 2 < last->end_ns)
			last->nr += row->nr;
		else
			calls->lengths[nr++] = *row;
	}
	calls->nr_lengths = nr;
}

/* The slowest in total first. */
static int compare_calls(const void *left, const void *right)
{
	const struct calls *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return (a->span > b->span) - (a->span < b->span);
}

static struct all_calls gather(const struct profile *profile)
{
	const struct profile_spans *spans = &profile->spans;
	struct all_calls all = {.at = xcalloc(spans->nr + 1, sizeof(*all.at)), .nr = spans->nr};

	for (size_t i = 0; i < spans->nr; i++)
		all.at[i].span = &spans->rows[i];
	for (size_t i = 0; i < spans->nr_sums; i++) {
		const struct profile_span_sum *sum = &spans->sums[i];
		struct calls *calls = &all.at[sum->span];

		calls->nr_begun += sum->nr_begun;
		calls->total_ns += sum->total_ns;
		if (sum->longest_ns > calls->longest.longest_ns)
			calls->longest = *sum;
	}
	for (size_t i = 0; i < spans->nr_lengths; i++) {
		struct calls *calls = &all.at[spans->lengths[i].span];

		ARRAY_GROW(calls->lengths, calls->nr_lengths, calls->cap_lengths);
		calls->lengths[calls->nr_lengths++] = spans->lengths[i];
	}
	for (size_t i = 0; i < all.nr; i++)
		join_lengths(&all.at[i]);
	qsort(all.at, all.nr, sizeof(*all.at), compare_calls);
	return all;
}

static void release(struct all_calls *all)
{
	for (size_t i = 0; i < all->nr; i++)
		free(all->at[i].lengths);
	free(all->at);
}

/* Calls of one range of lengths are spread evenly over it. */
static double percentile_ns(const struct calls *calls, double percent)
{
	double wanted = (double)calls->nr_ended * percent / 100, before = 0;

	for (size_t i = 0; i < calls->nr_lengths; i++) {
		const struct profile_span_length *row = &calls->lengths[i];
		double end_ns = (double)min_u64(row->end_ns, calls->longest.longest_ns);
		double least_ns = (double)min_u64(row->least_ns, calls->longest.longest_ns);

		if (before + (double)row->nr >= wanted)
			return least_ns + (end_ns - least_ns) * (wanted - before) / (double)row->nr;
		before += (double)row->nr;
	}
	return (double)calls->longest.longest_ns;
}

static double mean_ns(const struct calls *calls)
{
	return calls->nr_ended ? (double)calls->total_ns / (double)calls->nr_ended : 0;
}

/* Begun, but not ended: left by longjmp() or an exception, or still running at the end. */
static uint64_t nr_without_end(const struct calls *calls)
{
	return calls->nr_begun - min_u64(calls->nr_begun, calls->nr_ended);
}

static const char *name_of(const struct profile *profile, const struct calls *calls)
{
	return profile_span_name(profile, calls->span);
}

static const char *thread_name(const struct profile *profile, const struct calls *calls)
{
	uint32_t thread = calls->longest.longest_thread;

	return calls->longest.longest_ns && thread < profile->nr_threads
		       ? profile_str(profile, profile->threads[thread].name)
		       : "";
}

static void add_cell(struct table *table, enum style style, struct buf *text)
{
	table_add(table, style, buf_str(text));
	buf_clear(text);
}

static void add_time(struct table *table, const struct view *view, double ns, struct buf *text)
{
	const struct unit unit = unit_of_time(view->unit, ns);

	append_time(text, ns, &unit);
	buf_printf(text, " %s", unit.name);
	add_cell(table, STYLE_PLAIN, text);
}

/* Calls of each doubling of the length in ns. */
static void count_doublings(const struct calls *calls, uint64_t nr[DOUBLINGS])
{
	for (size_t i = 0; i < calls->nr_lengths; i++) {
		const struct profile_span_length *row = &calls->lengths[i];
		uint64_t middle_ns = row->least_ns + (row->end_ns - row->least_ns) / 2;

		nr[63 - __builtin_clzll(middle_ns | 1)] += row->nr;
	}
}

/* Columns from first on, before end, have calls of some function. */
struct doublings {
	unsigned int first, end;
};

static struct doublings doublings_of(const struct all_calls *all)
{
	struct doublings range = {0, 0};
	uint64_t nr[DOUBLINGS] = {0};

	for (size_t i = 0; i < all->nr; i++)
		count_doublings(&all->at[i], nr);
	for (unsigned int i = 0; i < DOUBLINGS; i++) {
		if (!nr[i])
			continue;
		range.first = range.end ? range.first : i;
		range.end = i + 1;
	}
	return range;
}

/* By the number of digits of their number in the binary system: few long calls are seen, too. */
static void append_sparkline(struct buf *text, const struct calls *calls, struct doublings range)
{
	static const char *const heights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	uint64_t nr[DOUBLINGS] = {0}, most = 1;

	count_doublings(calls, nr);
	for (unsigned int i = range.first; i < range.end; i++)
		most = max_u64(most, nr[i]);
	for (unsigned int i = range.first; i < range.end; i++) {
		unsigned int digits = nr[i] ? 64 - (unsigned int)__builtin_clzll(nr[i]) : 0;
		unsigned int most_digits = 64 - (unsigned int)__builtin_clzll(most);

		buf_append_str(text, heights[(digits * 8 + most_digits - 1) / most_digits]);
	}
}

/* A row of the table: a function in a process, or in all of those where it has no calls. */
struct shown {
	const struct calls *calls;
	const char *name;
	size_t nr_processes;
};

struct shown_rows {
	struct shown *at; /* owned: the slowest in total first, as all_calls */
	size_t nr, nr_left_out;
};

static bool has_calls(const struct calls *calls)
{
	return calls->nr_begun || calls->nr_ended;
}

/* By name, and of one name those with calls first. */
static int compare_names(const void *left, const void *right)
{
	const struct shown *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : (int)has_calls(b->calls) - (int)has_calls(a->calls);
}

static int compare_shown(const void *left, const void *right)
{
	return compare_calls(((const struct shown *)left)->calls,
			     ((const struct shown *)right)->calls);
}

/*
 * Most processes of a recording never call what is timed. They are only counted where another one
 * has calls of the function, and have one row together where none has.
 */
static struct shown_rows choose_rows(const struct profile *profile, const struct all_calls *all)
{
	struct shown_rows rows = {.at = xcalloc(all->nr + 1, sizeof(*rows.at))};

	for (size_t i = 0; i < all->nr; i++)
		rows.at[i] = (struct shown){.calls = &all->at[i],
					    .name = name_of(profile, &all->at[i]),
					    .nr_processes = 1};
	qsort(rows.at, all->nr, sizeof(*rows.at), compare_names);
	for (size_t i = 0; i < all->nr; i++) {
		const struct shown row = rows.at[i];
		struct shown *last = rows.nr ? &rows.at[rows.nr - 1] : NULL;

		if (has_calls(row.calls) || !last || strcmp(last->name, row.name) != 0)
			rows.at[rows.nr++] = row;
		else if (has_calls(last->calls))
			rows.nr_left_out++;
		else
			last->nr_processes++;
	}
	qsort(rows.at, rows.nr, sizeof(*rows.at), compare_shown);
	return rows;
}

static const double percents[] = {50, 90, 99, 99.9};

static void append_process(struct buf *text, const struct profile *profile,
			   const struct shown *shown)
{
	const struct profile_process *process = &profile->processes[shown->calls->span->process];

	if (shown->nr_processes > 1)
		buf_printf(text, "%zu processes", shown->nr_processes);
	else
		buf_printf(text, "%s (%d)", profile_str(profile, process->name), (int)process->pid);
}

static void add_row(struct table *table, const struct profile *profile, const struct view *view,
		    const struct shown *shown, struct doublings range)
{
	const struct calls *calls = shown->calls;
	const struct profile_span_sum *longest = &calls->longest;
	struct buf text = {0};

	append_count(&text, calls->nr_ended);
	add_cell(table, STYLE_PLAIN, &text);
	add_time(table, view, (double)calls->total_ns, &text);
	add_time(table, view, mean_ns(calls), &text);
	for (size_t i = 0; i < ARRAY_SIZE(percents); i++)
		add_time(table, view, percentile_ns(calls, percents[i]), &text);
	add_time(table, view, (double)longest->longest_ns, &text);
	if (longest->longest_ns)
		buf_printf(&text, "%.3f s", (double)longest->longest_from_ns / 1e9);
	add_cell(table, STYLE_DIM, &text);
	if (longest->longest_ns && longest->longest_thread < profile->nr_threads)
		buf_printf(&text, "%s (%d)", thread_name(profile, calls),
			   (int)profile->threads[longest->longest_thread].tid);
	add_cell(table, STYLE_DIM, &text);
	append_sparkline(&text, calls, range);
	add_cell(table, STYLE_DIM, &text);
	table_add(table, STYLE_PLAIN, name_of(profile, calls));
	append_process(&text, profile, shown);
	add_cell(table, STYLE_DIM, &text);
	buf_release(&text);
}

static void print_note(const struct all_calls *all, const struct view *view, struct sink *sink)
{
	struct buf note = {0};
	bool has_pair = false;
	uint64_t nr = 0;

	for (size_t i = 0; i < all->nr; i++) {
		nr += nr_without_end(&all->at[i]);
		has_pair |= nr_without_end(&all->at[i]) && all->at[i].span->pair.v;
	}
	if (nr) {
		append_count(&note, nr);
		buf_append_str(&note, nr == 1 ? " call was not seen to end: it was"
					      : " calls were not seen to end: they were");
		buf_append_str(&note, " left by an exception or longjmp(), or with the thread, or "
				      "went on at the end of the recording");
		if (has_pair)
			buf_append_str(&note,
				       ", or the first function of a pair was entered again");
		sink_str(sink, "\n");
		paragraph_print(view, "note: ", buf_str(&note), sink);
	}
	buf_release(&note);
}

#define BAR_COLUMNS 40

static void print_lengths(const struct calls *calls, struct doublings range,
			  const struct view *view, struct sink *sink)
{
	static const struct table_column columns[] = {
		{.header = "from", .right = true},
		{.header = "calls", .right = true},
		{.header = ""},
	};
	struct table *table = table_new(columns, ARRAY_SIZE(columns));
	uint64_t nr[DOUBLINGS] = {0}, most = 1;
	struct buf text = {0};

	count_doublings(calls, nr);
	for (unsigned int i = range.first; i < range.end; i++)
		most = max_u64(most, nr[i]);
	for (unsigned int i = range.first; i < range.end; i++) {
		double columns_of_bar = (double)nr[i] / (double)most * BAR_COLUMNS;

		add_time(table, view, (double)(UINT64_C(1) << i), &text);
		append_count(&text, nr[i]);
		add_cell(table, STYLE_PLAIN, &text);
		for (double k = 0.5; k < columns_of_bar; k += 1)
			buf_append_str(&text, "█");
		if (nr[i] && !text.nr_bytes)
			buf_append_str(&text, "▏");
		add_cell(table, STYLE_DIM, &text);
	}
	sink_str(sink, "\n");
	table_print(table, view, sink);
	table_free(table);
	buf_release(&text);
}

static void print_left_out(const struct shown_rows *rows, const struct view *view,
			   struct sink *sink)
{
	struct buf text = {0};

	if (!rows->nr_left_out)
		return;
	append_count(&text, rows->nr_left_out);
	buf_append_str(&text, " more without a call, in other processes (--json shows all)");
	paragraph_print(view, "and ", buf_str(&text), sink);
	buf_release(&text);
}

/* Pairs of static probes, "usdt:PROVIDER:BEGIN:END", differ amid and at the end. */
#define NAME_COLUMNS 40

void spans_print_text(const struct profile *profile, const struct view *view, struct sink *sink)
{
	static const struct table_column columns[] = {
		{.header = "calls", .right = true},
		{.header = "total", .right = true, .drop = 2},
		{.header = "mean", .right = true},
		{.header = "p50", .right = true},
		{.header = "p90", .right = true, .drop = 6},
		{.header = "p99", .right = true},
		{.header = "p99.9", .right = true, .drop = 5},
		{.header = "longest", .right = true},
		{.header = "at", .right = true, .drop = 4},
		{.header = "thread", .flexible = true, .min_columns = 8, .drop = 7, .share = 1},
		{.header = "lengths", .drop = 3},
		{.header = "function",
		 .flexible = true,
		 .cut = CUT_MIDDLE,
		 .min_columns = NAME_COLUMNS,
		 .kept_columns = NAME_COLUMNS},
		{.header = "process", .flexible = true, .min_columns = 8, .drop = 8, .share = 1},
	};
	struct table *table = table_new(columns, ARRAY_SIZE(columns));
	struct all_calls all = gather(profile);
	struct shown_rows rows = choose_rows(profile, &all);
	struct doublings range = doublings_of(&all);

	for (size_t i = 0; i < rows.nr; i++)
		add_row(table, profile, view, &rows.at[i], range);
	table_print(table, view, sink);
	print_left_out(&rows, view, sink);
	if (rows.nr == 1)
		print_lengths(rows.at[0].calls, range, view, sink);
	print_note(&all, view, sink);
	table_free(table);
	free(rows.at);
	release(&all);
}

static void put_percentiles(struct json *json, const struct calls *calls)
{
	static const char *const keys[] = {"p50_ns", "p90_ns", "p99_ns", "p99_9_ns"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		json_key(json, keys[i]);
		json_double(json, percentile_ns(calls, percents[i]), 1);
	}
}

static void put_slow(struct json *json, const struct profile *profile, uint32_t span)
{
	json_key_array_begin(json, "slow");
	for (size_t i = 0; i < profile->spans.nr_slow; i++) {
		const struct profile_slow_call *call = &profile->spans.slow[i];
		const struct profile_thread *thread =
			call->thread < profile->nr_threads ? &profile->threads[call->thread] : NULL;

		if (call->span != span)
			continue;
		json_object_begin(json);
		json_key_u64(json, "from_ns", call->from_ns);
		json_key_u64(json, "length_ns", call->length_ns);
		json_key_known_str(json, "thread",
				   thread ? profile_str(profile, thread->name) : "");
		json_key_known_u64(json, "tid", thread ? (uint64_t)thread->tid : 0);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_calls(struct json *json, const struct profile *profile, const struct calls *calls)
{
	const struct profile_process *process = &profile->processes[calls->span->process];
	const struct profile_span_sum *longest = &calls->longest;
	bool has_thread = longest->longest_ns && longest->longest_thread < profile->nr_threads;

	json_object_begin(json);
	json_key_known_str(json, "function", name_of(profile, calls));
	json_key_str(json, "process", profile_str(profile, process->name));
	json_key_u64(json, "pid", (uint64_t)process->pid);
	json_key_u64(json, "from_ns", calls->span->from_ns);
	json_key_u64(json, "calls", calls->nr_ended);
	json_key_u64(json, "not_ended", nr_without_end(calls));
	json_key_u64(json, "total_ns", calls->total_ns);
	json_key(json, "mean_ns");
	json_double(json, mean_ns(calls), 1);
	put_percentiles(json, calls);
	json_key_u64(json, "longest_ns", longest->longest_ns);
	json_key_u64(json, "longest_from_ns", longest->longest_from_ns);
	json_key_known_str(json, "longest_thread", thread_name(profile, calls));
	json_key_known_u64(json, "longest_tid",
			   has_thread ? (uint64_t)profile->threads[longest->longest_thread].tid
				      : 0);
	json_key_array_begin(json, "lengths");
	for (size_t i = 0; i < calls->nr_lengths; i++) {
		json_object_begin(json);
		json_key_u64(json, "least_ns", calls->lengths[i].least_ns);
		json_key_u64(json, "end_ns", calls->lengths[i].end_ns);
		json_key_u64(json, "calls", calls->lengths[i].nr);
		json_object_end(json);
	}
	json_array_end(json);
	put_slow(json, profile, (uint32_t)(calls->span - profile->spans.rows));
	json_object_end(json);
}

void spans_print_json(const struct profile *profile, struct sink *sink)
{
	struct all_calls all = gather(profile);
	struct json json;

	json_init(&json, sink);
	json_object_begin(&json);
	json_key_array_begin(&json, "spans");
	for (size_t i = 0; i < all.nr; i++)
		put_calls(&json, profile, &all.at[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
	release(&all);
}
