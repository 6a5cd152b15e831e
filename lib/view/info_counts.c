// SPDX-License-Identifier: GPL-2.0-or-later
/* The exact counts in `profc info`. */
#include "view/info_counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/sink.h"
#include "profile/profile.h"
#include "view/cut.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"

#define REASONS_SHOWN	 10
#define NAMES_SHOWN	 4
#define NAME_COLUMNS_MAX 60

/* Bits: in which roles a frame or process was seen. */
enum seen {
	SEEN_ENTRY = 1,
	SEEN_CALL = 2,
	SEEN_LATE = 4, /* counted, but not from its start */
};

static void add_place(struct counted *counted, uint8_t *seen, const struct profile_count *row)
{
	uint8_t bit = row->kind == COUNT_ENTRY ? SEEN_ENTRY : SEEN_CALL;

	if (row->kind == COUNT_ENTRY)
		counted->nr_of_functions += row->calls;
	else
		counted->nr_of_calls += row->calls;
	if (*seen & bit)
		return;
	*seen |= bit;
	if (row->kind == COUNT_ENTRY)
		counted->functions++;
	else
		counted->calls++;
}

static void add_process(struct counted *counted, uint8_t *seen, const struct profile_count *row)
{
	if (!*seen) {
		counted->processes++;
		counted->from_start++;
	}
	*seen |= SEEN_ENTRY;
	if (row->flags & COUNT_FROM_START)
		return;
	if (row->from_ns < counted->first_from_ns)
		counted->first_from_ns = row->from_ns;
	if (!(*seen & SEEN_LATE))
		counted->from_start--;
	*seen |= SEEN_LATE;
}

/* By reason, then function; ids are in the order in which texts first occurred. */
static int by_reason(const void *left, const void *right)
{
	const struct profile_refusal *a = left;
	const struct profile_refusal *b = right;

	if (a->reason.v != b->reason.v)
		return a->reason.v > b->reason.v ? 1 : -1;
	if (a->function.v != b->function.v)
		return a->function.v > b->function.v ? 1 : -1;
	return (a->module.v > b->module.v) - (a->module.v < b->module.v);
}

/* Distinct refusals in that order: one that many processes share is reported once. */
static struct profile_refusal *distinct_refusals(const struct profile_probes *probes, size_t *nr)
{
	size_t nr_bytes = probes->nr_refusals * sizeof(*probes->refusals);
	struct profile_refusal *rows = xmemdup(probes->refusals, nr_bytes);

	*nr = 0;
	if (probes->nr_refusals)
		qsort(rows, probes->nr_refusals, sizeof(*rows), by_reason);
	for (size_t i = 0; i < probes->nr_refusals; i++) {
		if (!*nr || by_reason(&rows[*nr - 1], &rows[i]) != 0)
			rows[(*nr)++] = rows[i];
	}
	return rows;
}

static uint64_t nr_distinct_refusals(const struct profile_probes *probes)
{
	size_t nr;

	free(distinct_refusals(probes, &nr));
	return nr;
}

/* It was not to be counted, but to be noted. */
static bool is_of_wakers(const struct profile *profile, const struct profile_refusal *row)
{
	return strncmp(profile_str(profile, row->function), WAKES_REFUSED, strlen(WAKES_REFUSED)) ==
	       0;
}

static uint64_t nr_of_wakers(const struct profile *profile)
{
	size_t nr;
	cleanup_free struct profile_refusal *rows = distinct_refusals(&profile->probes, &nr);
	uint64_t found = 0;

	for (size_t i = 0; i < nr; i++)
		found += is_of_wakers(profile, &rows[i]);
	return found;
}

struct counted counted_of(const struct profile *profile)
{
	const struct profile_probes *probes = &profile->probes;
	cleanup_free uint8_t *frames = xcalloc(profile->nr_frames, sizeof(*frames));
	cleanup_free uint8_t *processes = xcalloc(profile->nr_processes, sizeof(*processes));
	struct counted counted = {.first_from_ns = UINT64_MAX};

	for (size_t i = 0; i < probes->nr_counts; i++) {
		const struct profile_count *row = &probes->counts[i];

		add_place(&counted, &frames[row->where.v], row);
		add_process(&counted, &processes[row->process], row);
	}
	counted.refused = nr_distinct_refusals(probes) - nr_of_wakers(profile);
	return counted;
}

static void append_number_of(struct buf *out, uint64_t nr, const char *one, const char *many)
{
	append_count(out, nr);
	buf_printf(out, " %s", nr == 1 ? one : many);
}

static void append_since(struct buf *out, const struct counted *counted)
{
	if (counted->from_start == counted->processes) {
		buf_append_str(out, " from the start");
		return;
	}
	if (counted->from_start) {
		buf_append_str(out, " from the start in ");
		append_count(out, counted->from_start);
		buf_append_str(out, " of them, else");
	}
	buf_append_str(out, " from ");
	append_weight(out, METRIC_WALL, counted->first_from_ns);
	buf_append_str(out, " on");
}

static void append_stops(struct buf *out, const struct profile *profile)
{
	uint64_t install_ns = profile_counter(profile, "probe_install_ns");
	uint64_t max_ns = profile_counter(profile, "probe_stop_ns_max");

	if (!install_ns)
		return;
	buf_append_str(out, "; stopped for ");
	append_weight(out, METRIC_WALL, install_ns);
	buf_append_str(out, " to install probes");
	if (!max_ns)
		return;
	buf_append_str(out, ", at most ");
	append_weight(out, METRIC_WALL, max_ns);
	buf_append_str(out, " at once");
}

static void append_calls(struct buf *out, const struct counted *counted)
{
	if (counted->functions || !counted->calls) {
		append_number_of(out, counted->nr_of_functions, "call", "calls");
		buf_append_str(out, " of ");
		append_number_of(out, counted->functions, "function", "functions");
	}
	if (counted->functions && counted->calls)
		buf_append_str(out, " and ");
	if (counted->calls) {
		append_number_of(out, counted->nr_of_calls, "call", "calls");
		buf_append_str(out, " at ");
		append_number_of(out, counted->calls, "call site", "call sites");
	}
}

/* Without requested counts, the refused functions are those that allocate or free. */
static bool is_of_memory(const struct profile *profile)
{
	return !profile->probes.nr_counts && profile_has_heap(profile);
}

/* Calls were neither counted nor to be counted. */
static bool has_no_counts(const struct profile *profile)
{
	return is_of_memory(profile) ||
	       (!profile->probes.nr_counts && !counted_of(profile).refused);
}

bool info_append_counts(struct buf *out, const struct profile *profile)
{
	struct counted counted = counted_of(profile);

	if (!profile_has_counts(profile) || (!profile->probes.nr_counts && !counted.refused))
		return false;
	if (is_of_memory(profile)) {
		append_number_of(out, counted.refused, "function", "functions");
		buf_append_str(out, " of an allocator could not be watched: profc info says why");
		return true;
	}
	buf_append_str(out, "counted ");
	append_calls(out, &counted);
	if (!counted.refused)
		return true;
	buf_append_str(out, "; ");
	append_count(out, counted.refused);
	buf_append_str(out, " could not be: profc info says why");
	return true;
}

/* "3 functions and 40 call sites in 2 processes, counted from the start; stopped for …" */
static void print_counted(const struct profile *profile, const struct view *view, struct sink *sink)
{
	struct counted counted = counted_of(profile);
	struct buf text = {0};

	if (counted.functions || !counted.calls)
		append_number_of(&text, counted.functions, "function", "functions");
	if (counted.functions && counted.calls)
		buf_append_str(&text, " and ");
	if (counted.calls)
		append_number_of(&text, counted.calls, "call site", "call sites");
	if (counted.processes) {
		buf_append_str(&text, " in ");
		append_number_of(&text, counted.processes, "process", "processes");
		buf_append_str(&text, ", counted");
		append_since(&text, &counted);
	} else {
		buf_append_str(&text, " counted");
	}
	append_stops(&text, profile);
	buf_append_str(&text, ".");
	paragraph_print(view, "", buf_str(&text), sink);
	buf_release(&text);
}

/* Refusals with one reason: rows[first] … rows[first + nr - 1]. */
struct reason {
	size_t first, nr;
};

static int by_number(const void *left, const void *right)
{
	const struct reason *a = left;
	const struct reason *b = right;

	if (a->nr != b->nr)
		return a->nr < b->nr ? 1 : -1;
	return (a->first > b->first) - (a->first < b->first);
}

static void append_name(struct buf *out, const char *name)
{
	struct buf escaped = {0};

	escape_terminal(&escaped, name);
	append_cut(out, buf_str(&escaped), NAME_COLUMNS_MAX, CUT_MIDDLE);
	buf_release(&escaped);
}

/* "free (libsmall.so)" */
static void append_refused(struct buf *out, const struct profile *profile,
			   const struct profile_refusal *row)
{
	const char *module = profile_str(profile, row->module);
	const char *slash = strrchr(module, '/');

	if (!*profile_str(profile, row->function)) {
		buf_append_str(out, "a whole process");
		return;
	}
	append_name(out, profile_str(profile, row->function));
	if (!*module)
		return;
	buf_append_str(out, " (");
	append_name(out, slash ? slash + 1 : module);
	buf_append_str(out, ")");
}

static void print_reason(const struct profile *profile, const struct profile_refusal *rows,
			 size_t nr, const struct view *view, struct sink *sink)
{
	struct buf text = {0};

	for (size_t i = 0; i < nr && i < NAMES_SHOWN; i++) {
		if (i)
			buf_append_str(&text, ", ");
		append_refused(&text, profile, &rows[i]);
	}
	if (nr > NAMES_SHOWN)
		buf_printf(&text, " and %zu more (--json has all)", nr - NAMES_SHOWN);
	if (text.nr_bytes) /* a refusal of a whole process has no name */
		buf_append_str(&text, ": ");
	escape_terminal(&text, profile_str(profile, rows[0].reason));
	paragraph_print(view, "  not watched: ", buf_str(&text), sink);
	buf_release(&text);
}

static void print_refusals(const struct profile *profile, const struct view *view,
			   struct sink *sink)
{
	size_t nr, nr_reasons = 0;
	cleanup_free struct profile_refusal *rows = distinct_refusals(&profile->probes, &nr);
	cleanup_free struct reason *reasons = xcalloc(nr, sizeof(*reasons));

	for (size_t i = 0; i < nr; i++) {
		if (!i || rows[i].reason.v != rows[i - 1].reason.v)
			reasons[nr_reasons++].first = i;
		reasons[nr_reasons - 1].nr++;
	}
	if (nr_reasons)
		qsort(reasons, nr_reasons, sizeof(*reasons), by_number);
	for (size_t i = 0; i < nr_reasons && i < REASONS_SHOWN; i++)
		print_reason(profile, &rows[reasons[i].first], reasons[i].nr, view, sink);
	if (nr_reasons > REASONS_SHOWN)
		sink_printf(sink, "  ... and for %zu more reasons; --json has all\n",
			    nr_reasons - REASONS_SHOWN);
}

void info_print_counts(const struct profile *profile, const struct view *view, struct sink *sink)
{
	if (!profile_has_counts(profile))
		return;
	sink_str(sink, "\n");
	line_print(sink, view, STYLE_HEADING, has_no_counts(profile) ? "Probes" : "Counts");
	if (!has_no_counts(profile))
		print_counted(profile, view, sink);
	print_refusals(profile, view, sink);
}
