// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks that nothing points to, as text and as JSON. */
#include "view/reach_text.h"

#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/leaks.h"
#include "profile/block_search.h"
#include "profile/heap_estimate.h"
#include "profile/profile.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"

/* Processes that were not searched, by name; the others are only counted. */
#define LISTED_MAX 5

struct searched {
	uint64_t nr_processes, nr_not_searched;
	uint64_t nr_bytes, stop_ns, stop_ns_max;
};

static bool is_chosen(const struct reach_scope *scope, const struct profile_search *row)
{
	return block_search_is_of(row, scope->at_ns) &&
	       (!scope->chosen || scope->chosen[row->process]);
}

static struct searched sum_up(const struct profile *profile, const struct reach_scope *scope)
{
	struct searched sum = {0};

	for (size_t i = 0; i < profile->heap.nr_searches; i++) {
		const struct profile_search *row = &profile->heap.searches[i];

		if (!is_chosen(scope, row))
			continue;
		sum.nr_processes += row->why_not.v == STR_EMPTY.v;
		sum.nr_not_searched += row->why_not.v != STR_EMPTY.v;
		sum.nr_bytes += row->nr_bytes;
		sum.stop_ns += row->stop_ns;
		sum.stop_ns_max = max_u64(sum.stop_ns_max, row->stop_ns);
	}
	return sum;
}

static void append_amount(struct buf *out, const struct tally *tally)
{
	append_weight(out, METRIC_LEAKED, tally->weight);
	buf_append_str(out, " in ");
	append_weight(out, METRIC_ALLOCS, tally_blocks(tally));
}

void reach_append_stop(struct buf *out, uint64_t nr_processes, uint64_t nr_bytes,
		       uint64_t stop_ns_max)
{
	append_memory(out, nr_bytes);
	buf_append_str(out, " of ");
	if (nr_processes > 1)
		append_count(out, nr_processes);
	else
		buf_append_str(out, "one");
	buf_append_str(out, nr_processes > 1 ? " processes, which were stopped for up to "
					     : " process, which was stopped for ");
	append_weight(out, METRIC_WALL, stop_ns_max);
}

bool reach_append_searched(struct buf *out, const struct profile *profile,
			   const struct reach_scope *scope)
{
	const struct searched sum = sum_up(profile, scope);

	if (!sum.nr_processes)
		return false;
	reach_append_stop(out, sum.nr_processes, sum.nr_bytes, sum.stop_ns_max);
	return true;
}

static void append_process(struct buf *out, const struct profile *profile, uint32_t index)
{
	const struct profile_process *process = &profile->processes[index];

	escape_terminal(out, profile_str(profile, process->name));
	buf_printf(out, " (%d)", (int)process->pid);
}

void reach_print_not_searched(const struct profile *profile, const struct reach_scope *scope,
			      const struct view *view, struct sink *sink)
{
	struct buf text = {0};
	uint64_t nr = 0;

	for (size_t i = 0; i < profile->heap.nr_searches; i++) {
		const struct profile_search *row = &profile->heap.searches[i];

		if (!is_chosen(scope, row) || row->why_not.v == STR_EMPTY.v || ++nr > LISTED_MAX)
			continue;
		append_process(&text, profile, row->process);
		buf_append_str(&text, ": ");
		escape_terminal(&text, profile_str(profile, row->why_not));
		paragraph_print(view, "not searched: ", buf_str(&text), sink);
		buf_clear(&text);
	}
	if (nr > LISTED_MAX) {
		append_count(&text, nr - LISTED_MAX);
		buf_append_str(&text, " more processes");
		paragraph_print(view, "not searched: ", buf_str(&text), sink);
	}
	buf_release(&text);
}

static struct reach_scope scope_of(const struct leaks *leaks)
{
	return (struct reach_scope){.at_ns = leaks->at_ns, .chosen = leaks->selection->processes};
}

bool reach_is_searched(const struct profile *profile, uint64_t at_ns)
{
	bool has = false;

	for (size_t i = 0; i < profile->heap.nr_searches && !has; i++)
		has = block_search_is_of(&profile->heap.searches[i], at_ns);
	return has;
}

void reach_print_heading(const struct leaks *leaks, const struct view *view, struct sink *sink)
{
	const struct profile *profile = leaks->selection->expansion->profile;
	const struct reach_scope scope = scope_of(leaks);
	struct buf text = {0};

	if (!leaks->nr)
		return;
	if (!reach_is_searched(profile, scope.at_ns)) {
		paragraph_print(
			view, "",
			scope.at_ns == HEAP_AT_END
				? "pointers to it were not searched for: 'profc record --mem "
				  "--reachable' does that"
				: "pointers to it were not searched for then: 'mem search "
				  "TEXT' does that, see profc-record(1)",
			sink);
		return;
	}
	if (leaks->lost.weight || leaks->pointed_to.weight) {
		append_amount(&text, &leaks->lost);
		buf_append_str(&text, " of it lost: no pointer to it in ");
		reach_append_searched(&text, profile, &scope);
		paragraph_print_styled(view, STYLE_HEADING, "", buf_str(&text), sink);
	}
	buf_release(&text);
	reach_print_not_searched(profile, &scope, view, sink);
}

void reach_append_leak(struct buf *out, const struct leak *leak)
{
	uint64_t known = leak->lost.weight + leak->pointed_to.weight;

	if (leak->lost.weight && leak->lost.weight == leak->tally.weight) {
		buf_append_str(out, "; all of it lost");
	} else if (leak->lost.weight) {
		buf_append_str(out, "; ");
		append_amount(out, &leak->lost);
		buf_append_str(out, " of it lost");
	} else if (known) {
		buf_append_str(out, "; pointed to");
	}
	if (known < leak->tally.weight)
		buf_append_str(out, known ? "; a part perhaps pointed to" : "; perhaps pointed to");
}

static void write_parts(struct json *json, const struct tally *lost, const struct tally *pointed_to)
{
	json_key_u64(json, "lost_bytes", lost->weight);
	json_key_u64(json, "lost_blocks", tally_blocks(lost));
	json_key_u64(json, "pointed_to_bytes", pointed_to->weight);
	json_key_u64(json, "pointed_to_blocks", tally_blocks(pointed_to));
}

void reach_write_leak(struct json *json, const struct leak *leak)
{
	write_parts(json, &leak->lost, &leak->pointed_to);
}

void reach_write(struct json *json, const struct leaks *leaks)
{
	const struct reach_scope scope = scope_of(leaks);

	write_parts(json, &leaks->lost, &leaks->pointed_to);
	json_key(json, "reachable");
	reach_write_searches(json, leaks->selection->expansion->profile, &scope);
}

void reach_write_searches(struct json *json, const struct profile *profile,
			  const struct reach_scope *scope)
{
	const struct searched sum = sum_up(profile, scope);

	if (!reach_is_searched(profile, scope->at_ns)) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	json_key_u64(json, "processes", sum.nr_processes);
	json_key_u64(json, "searched_bytes", sum.nr_bytes);
	json_key_u64(json, "stop_ns", sum.stop_ns);
	json_key_u64(json, "stop_ns_max", sum.stop_ns_max);
	json_key_array_begin(json, "not_searched");
	for (size_t i = 0; i < profile->heap.nr_searches; i++) {
		const struct profile_search *row = &profile->heap.searches[i];

		if (!is_chosen(scope, row) || row->why_not.v == STR_EMPTY.v)
			continue;
		json_object_begin(json);
		json_key_u64(json, "pid", (uint64_t)profile->processes[row->process].pid);
		json_key_str(json, "reason", profile_str(profile, row->why_not));
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}
