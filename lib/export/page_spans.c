// SPDX-License-Identifier: GPL-2.0-or-later
/* The timed calls of the page, by the name of the function: those of all processes. */
#include "export/page_spans_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/minmax.h"
#include "export/numbering_priv.h"
#include "export/page_columns_priv.h"
#include "profile/profile.h"
#include "profile/slow_calls.h"

/*
 * Rows of several processes come within a moment: these are one interval. There are at most so
 * many intervals.
 */
#define INTERVAL_LEAST_NS (UINT64_C(300) * 1000 * 1000)
#define INTERVALS_MAX	  1000

struct length_range {
	uint64_t least_ns, end_ns;
};

/* Calls of a function that ended in an interval, of one range of lengths. */
struct length_cell {
	uint32_t function, interval, range;
	uint64_t nr;
};

struct span_function {
	const char *name;
	uint64_t nr_begun, nr_ended, total_ns;
	struct profile_span_sum longest;
};

struct page_spans {
	const struct profile *profile;	 /* borrowed */
	struct span_function *functions; /* owned, as all here */
	uint32_t nr_functions;
	uint32_t *function_of; /* by row of profile.spans */
	uint64_t from_ns;      /* the beginning of the first interval */
	uint64_t *ends_ns;     /* of the intervals, ascending */
	size_t nr_intervals;
	struct length_range *ranges; /* ascending */
	uint32_t nr_ranges;
	struct length_cell *cells;
	size_t nr_cells;
	struct profile_slow_call *slow; /* by time */
	size_t nr_slow;
};

static int compare_u64(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static uint32_t function_named(struct page_spans *spans, const char *name)
{
	for (uint32_t i = 0; i < spans->nr_functions; i++)
		if (strcmp(spans->functions[i].name, name) == 0)
			return i;
	spans->functions[spans->nr_functions].name = name;
	return spans->nr_functions++;
}

static void find_functions(struct page_spans *spans)
{
	const struct profile_spans *all = &spans->profile->spans;

	spans->functions = xcalloc(all->nr, sizeof(*spans->functions));
	spans->function_of = xcalloc(all->nr, sizeof(*spans->function_of));
	spans->from_ns = UINT64_MAX;
	for (size_t i = 0; i < all->nr; i++) {
		spans->function_of[i] =
			function_named(spans, profile_span_name(spans->profile, &all->rows[i]));
		spans->from_ns = min_u64(spans->from_ns, all->rows[i].from_ns);
	}
}

static void find_intervals(struct page_spans *spans)
{
	const struct profile_spans *all = &spans->profile->spans;
	uint64_t least_ns =
		max_u64(INTERVAL_LEAST_NS, spans->profile->meta.duration_ns / INTERVALS_MAX);
	size_t nr = all->nr_sums + all->nr_lengths;
	uint64_t *ends_ns = xcalloc(nr + 1, sizeof(*ends_ns)), begin_ns = 0;

	for (size_t i = 0; i < all->nr_sums; i++)
		ends_ns[i] = all->sums[i].to_ns;
	for (size_t i = 0; i < all->nr_lengths; i++)
		ends_ns[all->nr_sums + i] = all->lengths[i].to_ns;
	qsort(ends_ns, nr, sizeof(*ends_ns), compare_u64);
	for (size_t i = 0; i < nr; i++) {
		if (!i || ends_ns[i] - begin_ns >= least_ns) {
			begin_ns = ends_ns[i];
			spans->nr_intervals++;
		}
		ends_ns[spans->nr_intervals - 1] = ends_ns[i];
	}
	spans->ends_ns = ends_ns;
}

static uint32_t interval_of(const struct page_spans *spans, uint64_t to_ns)
{
	size_t low = 0, high = spans->nr_intervals;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans->ends_ns[middle] < to_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)low;
}

static int compare_cells(const void *left, const void *right)
{
	const struct length_cell *a = left, *b = right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->interval != b->interval)
		return a->interval < b->interval ? -1 : 1;
	return (a->range > b->range) - (a->range < b->range);
}

static int compare_lengths(const void *left, const void *right)
{
	const struct profile_span_length *a = left, *b = right;

	return (a->least_ns > b->least_ns) - (a->least_ns < b->least_ns);
}

/* As reports join rows: those that lie half or more in the one before are of the same range. */
static uint32_t range_of(struct page_spans *spans, const struct profile_span_length *row)
{
	struct length_range *last = spans->nr_ranges ? &spans->ranges[spans->nr_ranges - 1] : NULL;

	if (!last || row->least_ns + (row->end_ns - row->least_ns) / 2 >= last->end_ns)
		spans->ranges[spans->nr_ranges++] =
			(struct length_range){row->least_ns, row->end_ns};
	return spans->nr_ranges - 1;
}

static void find_cells(struct page_spans *spans)
{
	const struct profile_spans *all = &spans->profile->spans;
	cleanup_free struct profile_span_length *lengths =
		xcalloc(all->nr_lengths + 1, sizeof(*lengths));
	size_t nr = 0;

	for (size_t i = 0; i < all->nr_lengths; i++)
		lengths[i] = all->lengths[i];
	qsort(lengths, all->nr_lengths, sizeof(*lengths), compare_lengths);
	spans->ranges = xcalloc(all->nr_lengths + 1, sizeof(*spans->ranges));
	spans->cells = xcalloc(all->nr_lengths + 1, sizeof(*spans->cells));
	for (size_t i = 0; i < all->nr_lengths; i++) {
		uint32_t function = spans->function_of[lengths[i].span];

		spans->functions[function].nr_ended += lengths[i].nr;
		spans->cells[i] =
			(struct length_cell){.function = function,
					     .interval = interval_of(spans, lengths[i].to_ns),
					     .range = range_of(spans, &lengths[i]),
					     .nr = lengths[i].nr};
	}
	qsort(spans->cells, all->nr_lengths, sizeof(*spans->cells), compare_cells);
	for (size_t i = 0; i < all->nr_lengths; i++) {
		if (nr && compare_cells(&spans->cells[nr - 1], &spans->cells[i]) == 0)
			spans->cells[nr - 1].nr += spans->cells[i].nr;
		else
			spans->cells[nr++] = spans->cells[i];
	}
	spans->nr_cells = nr;
}

static void add_sums(struct page_spans *spans)
{
	const struct profile_spans *all = &spans->profile->spans;

	for (size_t i = 0; i < all->nr_sums; i++) {
		const struct profile_span_sum *sum = &all->sums[i];
		struct span_function *function = &spans->functions[spans->function_of[sum->span]];

		function->nr_begun += sum->nr_begun;
		function->total_ns += sum->total_ns;
		if (sum->longest_ns > function->longest.longest_ns)
			function->longest = *sum;
	}
}

static int compare_slow(const void *left, const void *right)
{
	const struct profile_slow_call *a = left, *b = right;

	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->length_ns > b->length_ns) - (a->length_ns < b->length_ns);
}

static void find_slow(struct page_spans *spans)
{
	const struct profile_spans *all = &spans->profile->spans;

	spans->slow = xcalloc(all->nr_slow + 1, sizeof(*spans->slow));
	spans->nr_slow = all->nr_slow;
	for (size_t i = 0; i < all->nr_slow; i++)
		spans->slow[i] = all->slow[i];
	qsort(spans->slow, spans->nr_slow, sizeof(*spans->slow), compare_slow);
}

struct page_spans *page_spans_new(const struct profile *profile)
{
	struct page_spans *spans;

	if (!profile->spans.nr)
		return NULL;
	spans = xcalloc(1, sizeof(*spans));
	spans->profile = profile;
	find_functions(spans);
	find_intervals(spans);
	find_cells(spans);
	add_sums(spans);
	find_slow(spans);
	return spans;
}

void page_spans_free(struct page_spans *spans)
{
	if (!spans)
		return;
	free(spans->functions);
	free(spans->function_of);
	free(spans->ends_ns);
	free(spans->ranges);
	free(spans->cells);
	free(spans->slow);
	free(spans);
}

/* And 1; 0: it is not known. */
static uint32_t thread_number(struct numbering *threads, const struct page_spans *spans,
			      uint32_t thread)
{
	if (thread >= spans->profile->nr_threads || !numbering_has(threads, thread))
		return 0;
	return numbering_of(threads, thread) + 1;
}

void page_spans_write(const struct page_spans *spans, struct numbering *threads,
		      struct page_columns *columns)
{
	uint64_t before_ns = 0;

	if (!spans)
		return;
	page_columns_begin(columns, "callFunction");
	for (size_t i = 0; i < spans->nr_cells; i++)
		page_columns_add(columns, spans->cells[i].function);
	page_columns_begin(columns, "callInterval");
	for (size_t i = 0; i < spans->nr_cells; i++)
		page_columns_add(columns, spans->cells[i].interval);
	page_columns_begin(columns, "callRange");
	for (size_t i = 0; i < spans->nr_cells; i++)
		page_columns_add(columns, spans->cells[i].range);
	page_columns_begin(columns, "callNr");
	for (size_t i = 0; i < spans->nr_cells; i++)
		page_columns_add(columns, spans->cells[i].nr);
	page_columns_begin(columns, "slowFunction");
	for (size_t i = 0; i < spans->nr_slow; i++)
		page_columns_add(columns, spans->function_of[spans->slow[i].span]);
	page_columns_begin(columns, "slowThread");
	for (size_t i = 0; i < spans->nr_slow; i++)
		page_columns_add(columns, thread_number(threads, spans, spans->slow[i].thread));
	page_columns_begin(columns, "slowTime"); /* each since the one before */
	for (size_t i = 0; i < spans->nr_slow; i++) {
		page_columns_add(columns, spans->slow[i].from_ns - before_ns);
		before_ns = spans->slow[i].from_ns;
	}
	page_columns_begin(columns, "slowLength");
	for (size_t i = 0; i < spans->nr_slow; i++)
		page_columns_add(columns, spans->slow[i].length_ns);
}

static void write_function(const struct page_spans *spans, const struct span_function *function,
			   struct numbering *threads, struct json *json)
{
	const struct profile_span_sum *longest = &function->longest;

	json_array_begin(json);
	json_str(json, function->name);
	json_u64(json, function->nr_begun);
	json_u64(json, function->nr_ended);
	json_u64(json, function->total_ns);
	json_u64(json, longest->longest_ns);
	json_u64(json, longest->longest_from_ns);
	json_u64(json,
		 longest->longest_ns ? thread_number(threads, spans, longest->longest_thread) : 0);
	json_array_end(json);
}

void page_spans_write_members(const struct page_spans *spans, struct numbering *threads,
			      struct json *json)
{
	if (!spans)
		return;
	json_key_object_begin(json, "timedCalls");
	json_key_u64(json, "fromNs", spans->from_ns);
	json_key_array_begin(json, "endsNs");
	for (size_t i = 0; i < spans->nr_intervals; i++)
		json_u64(json, spans->ends_ns[i]);
	json_array_end(json);
	json_key_array_begin(json, "rangesNs");
	for (uint32_t i = 0; i < spans->nr_ranges; i++) {
		json_array_begin(json);
		json_u64(json, spans->ranges[i].least_ns);
		json_u64(json, spans->ranges[i].end_ns);
		json_array_end(json);
	}
	json_array_end(json);
	json_key_array_begin(json, "functions");
	for (uint32_t i = 0; i < spans->nr_functions; i++)
		write_function(spans, &spans->functions[i], threads, json);
	json_array_end(json);
	json_object_end(json);
}
