// SPDX-License-Identifier: GPL-2.0-or-later
/* Exact counts by function, caller and line. */
#include "calltree/counts.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/minmax.h"
#include "calltree/count_history.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "profile/owners.h"

/* By process: the process that counts its calls. */
static uint32_t *find_owners(const struct profile *profile)
{
	bool *has_own = xcalloc(profile->nr_processes, sizeof(*has_own));
	uint32_t *owners;

	for (size_t i = 0; i < profile->probes.nr_counts; i++)
		has_own[profile->probes.counts[i].process] = true;
	owners = profile_find_owners(profile, has_own);
	free(has_own);
	return owners;
}

/* By owner: are all processes that it counts selected? */
static bool *find_whole_owners(const struct counts *counts)
{
	const struct selection *selection = counts->selection;
	size_t nr = selection->expansion->profile->nr_processes;
	bool *whole = xcalloc(nr, sizeof(*whole));

	for (size_t i = 0; i < nr; i++)
		if (counts->owners[i] == i)
			whole[i] = true;
	for (size_t i = 0; i < nr; i++)
		if (counts->owners[i] != PROCESS_NONE && !selection->processes[i])
			whole[counts->owners[i]] = false;
	return whole;
}

static void add_line(struct counts *counts, size_t *cap, const struct count_line *line)
{
	if (line->line == 0)
		return;
	ARRAY_GROW(counts->lines, counts->nr_lines, *cap);
	counts->lines[counts->nr_lines++] = *line;
}

/* Capacities needed while the rows are read. */
struct adder {
	struct counts *counts;
	const struct expansion *expansion;
	size_t cap_edges, cap_lines, cap_windows;
};

static bool is_chosen(const struct counts *counts, uint32_t label)
{
	const bool *functions = counts->selection->functions;

	return !functions || (label != COUNTS_NO_LABEL && functions[label]);
}

static void add_window(struct adder *adder, const struct profile_count *row, uint32_t key)
{
	struct counts *counts = adder->counts;

	ARRAY_GROW(counts->windows, counts->nr_windows, adder->cap_windows);
	counts->windows[counts->nr_windows++] = (struct count_window){
		.process = row->process, .key = key, .from_ns = row->from_ns, .to_ns = row->to_ns};
}

static void add_entry(struct adder *adder, const struct profile_count *row)
{
	struct counts *counts = adder->counts;
	uint32_t label = expansion_outermost(adder->expansion, row->where)->label;
	const struct function *function = label_function(adder->expansion, label);
	struct count_line line = {.has_entries = true, .entries = row->calls};

	if (!is_chosen(counts, label))
		return;
	counts->functions[label].counted = true;
	counts->functions[label].has_tail_call |= (row->flags & COUNT_TAIL_CALL) != 0;
	counts->functions[label].calls += row->calls;
	add_window(adder, row, label);
	if (function) {
		line.file = function->file;
		line.line = function->line;
	}
	add_line(counts, &adder->cap_lines, &line);
}

static void add_call(struct adder *adder, const struct profile_count *row)
{
	struct counts *counts = adder->counts;
	const struct level *level = expansion_innermost(adder->expansion, row->where);
	const struct place *place = &adder->expansion->places[level->place];
	struct count_line line = {
		.file = place->file, .line = place->line, .has_calls = true, .calls = row->calls};
	struct count_edge edge = {
		.caller = level->label, .callee = COUNTS_NO_LABEL, .calls = row->calls};

	if (row->callee.v != COUNT_NO_CALLEE.v)
		edge.callee = expansion_outermost(adder->expansion, row->callee)->label;
	if (is_chosen(counts, edge.caller))
		add_line(counts, &adder->cap_lines, &line);
	if (!is_chosen(counts, edge.caller) && !is_chosen(counts, edge.callee))
		return;
	ARRAY_GROW(counts->edges, counts->nr_edges, adder->cap_edges);
	counts->edges[counts->nr_edges++] = edge;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_edges(const void *a, const void *b)
{
	const struct count_edge *left = a, *right = b;
	int order = compare(left->caller, right->caller);

	return order ? order : compare(left->callee, right->callee);
}

static int compare_lines(const void *a, const void *b)
{
	const struct count_line *left = a, *right = b;
	int order = compare(left->file.v, right->file.v);

	return order ? order : compare(left->line, right->line);
}

static int compare_windows(const void *a, const void *b)
{
	const struct count_window *left = a, *right = b;
	int order = compare(left->process, right->process);

	return order ? order : compare(left->key, right->key);
}

static void merge_edges(struct counts *counts)
{
	size_t nr = 0;

	if (counts->nr_edges > 0)
		qsort(counts->edges, counts->nr_edges, sizeof(*counts->edges), compare_edges);
	for (size_t i = 0; i < counts->nr_edges; i++) {
		if (nr > 0 && compare_edges(&counts->edges[nr - 1], &counts->edges[i]) == 0)
			counts->edges[nr - 1].calls += counts->edges[i].calls;
		else
			counts->edges[nr++] = counts->edges[i];
	}
	counts->nr_edges = nr;
}

static void merge_lines(struct counts *counts)
{
	size_t nr = 0;

	if (counts->nr_lines > 0)
		qsort(counts->lines, counts->nr_lines, sizeof(*counts->lines), compare_lines);
	for (size_t i = 0; i < counts->nr_lines; i++) {
		const struct count_line *line = &counts->lines[i];
		struct count_line *last = nr > 0 ? &counts->lines[nr - 1] : NULL;

		if (!last || compare_lines(last, line) != 0) {
			counts->lines[nr++] = *line;
			continue;
		}
		last->has_calls = last->has_calls || line->has_calls;
		last->has_entries = last->has_entries || line->has_entries;
		last->calls += line->calls;
		last->entries += line->entries;
	}
	counts->nr_lines = nr;
}

/* Join the windows of a key: clones of a function have places of their own, each with its time. */
static void merge_windows(struct counts *counts)
{
	size_t nr = 0;

	if (counts->nr_windows > 0)
		qsort(counts->windows, counts->nr_windows, sizeof(*counts->windows),
		      compare_windows);
	for (size_t i = 0; i < counts->nr_windows; i++) {
		const struct count_window *window = &counts->windows[i];
		struct count_window *last = nr > 0 ? &counts->windows[nr - 1] : NULL;

		if (!last || compare_windows(last, window) != 0) {
			counts->windows[nr++] = *window;
			continue;
		}
		last->from_ns = min_u64(last->from_ns, window->from_ns);
		last->to_ns = max_u64(last->to_ns, window->to_ns);
	}
	counts->nr_windows = nr;
}

const struct count_line *counts_find_line(const struct counts *counts, struct str_id file,
					  uint32_t line)
{
	const struct count_line wanted = {.file = file, .line = line};

	if (counts->nr_lines == 0)
		return NULL;
	return bsearch(&wanted, counts->lines, counts->nr_lines, sizeof(wanted), compare_lines);
}

uint32_t counts_nr_keys(const struct counts *counts)
{
	return (uint32_t)(counts->selection->expansion->nr_labels + counts->nr_lines);
}

uint32_t counts_line_key(const struct counts *counts, const struct count_line *line)
{
	return (uint32_t)(counts->selection->expansion->nr_labels + (size_t)(line - counts->lines));
}

/* Call this when all lines are known. */
static void add_window_of_line(struct adder *adder, const struct profile_count *row)
{
	const struct level *level = expansion_innermost(adder->expansion, row->where);
	const struct place *place = &adder->expansion->places[level->place];
	const struct count_line *line = counts_find_line(adder->counts, place->file, place->line);

	if (row->kind == COUNT_CALL && line)
		add_window(adder, row, counts_line_key(adder->counts, line));
}

/*
 * In a recording that has not ended, reads of unchanged counts are not always written. All counts
 * of a process are read together, so each extends to the last of them.
 */
static void extend_windows(struct counts *counts)
{
	size_t first = 0;

	for (size_t i = 0; i < counts->nr_windows; i++) {
		const struct count_window *window = &counts->windows[i];

		if (window->process != counts->windows[first].process)
			first = i;
		counts->windows[first].to_ns = max_u64(counts->windows[first].to_ns, window->to_ns);
	}
	for (size_t i = 1; i < counts->nr_windows; i++)
		if (counts->windows[i].process == counts->windows[i - 1].process)
			counts->windows[i].to_ns = counts->windows[i - 1].to_ns;
}

/* The calls of a row since a moment, as if it had begun then. */
static struct profile_count row_since(const struct profile_count *row, size_t index,
				      const struct count_moment *since)
{
	struct profile_count later = *row;

	if (!since)
		return later;
	if (index < since->nr)
		later.calls -= min_u64(since->calls[index], row->calls);
	later.from_ns = max_u64(row->from_ns, since->time_ns);
	return later;
}

static void add_rows(struct counts *counts, const struct count_moment *since)
{
	const struct expansion *expansion = counts->selection->expansion;
	const struct profile_probes *probes = &expansion->profile->probes;
	struct adder adder = {.counts = counts, .expansion = expansion};

	counts->whole = find_whole_owners(counts);
	counts->functions = xcalloc(expansion->nr_labels, sizeof(*counts->functions));
	for (size_t i = 0; i < probes->nr_counts; i++) {
		const struct profile_count row = row_since(&probes->counts[i], i, since);

		if (!counts->whole[row.process])
			continue;
		counts->state = COUNTS_KNOWN;
		if (row.kind == COUNT_ENTRY)
			add_entry(&adder, &row);
		else
			add_call(&adder, &row);
	}
	merge_edges(counts);
	merge_lines(counts);
	for (size_t i = 0; i < probes->nr_counts; i++) {
		const struct profile_count row = row_since(&probes->counts[i], i, since);

		if (counts->whole[row.process])
			add_window_of_line(&adder, &row);
	}
	merge_windows(counts);
	if (!expansion->profile->meta.complete)
		extend_windows(counts);
}

/* Does the selection have all samples since that moment, so that counts belong to it? */
static bool is_countable(const struct selection *selection, const struct count_moment *since)
{
	uint64_t from_ns = since ? since->time_ns : 0;

	return selection->whole_processes && selection->from_ns <= from_ns &&
	       selection->to_ns == UINT64_MAX;
}

struct counts *counts_new(const struct selection *selection)
{
	return counts_new_since(selection, NULL);
}

struct counts *counts_new_since(const struct selection *selection, const struct count_moment *since)
{
	const struct profile *profile = selection->expansion->profile;
	struct counts *counts = xcalloc(1, sizeof(*counts));

	counts->selection = selection;
	counts->owners = find_owners(profile);
	if (profile->probes.nr_counts > 0 && !selection->expansion->is_of_samples)
		counts->state = COUNTS_FILTERED;
	if (counts->state != COUNTS_NONE && is_countable(selection, since))
		add_rows(counts, since);
	return counts;
}

void counts_free(struct counts *counts)
{
	if (!counts)
		return;
	free(counts->functions);
	free(counts->edges);
	free(counts->lines);
	free(counts->windows);
	free(counts->owners);
	free(counts->whole);
	free(counts);
}

int counts_require(const struct counts *counts, struct err *err)
{
	switch (counts->state) {
	case COUNTS_NONE:
		err_set(err, ERR_NOT_FOUND, "no calls were counted in this recording");
		err_hint(err, "'profc record --count REGEX' counts them");
		return ERR_NOT_FOUND;
	case COUNTS_FILTERED:
		return err_set(err, ERR_NOT_FOUND,
			       "calls are counted for whole processes: of what these filters "
			       "select they are unknown");
	case COUNTS_KNOWN:
		break;
	}
	return 0;
}

bool counts_are_any(const struct counts *counts)
{
	return counts->nr_windows > 0 || counts->nr_edges > 0;
}

bool counts_have(const struct counts *counts, const struct profile_count *row)
{
	const struct expansion *expansion = counts->selection->expansion;

	if (!counts->whole || !counts->whole[row->process])
		return false;
	if (row->kind == COUNT_ENTRY)
		return is_chosen(counts, expansion_outermost(expansion, row->where)->label);
	return is_chosen(counts, expansion_innermost(expansion, row->where)->label) ||
	       is_chosen(counts, row->callee.v == COUNT_NO_CALLEE.v
					 ? COUNTS_NO_LABEL
					 : expansion_outermost(expansion, row->callee)->label);
}

bool counts_find_function(const struct counts *counts, uint32_t label, uint64_t *calls)
{
	if (!counts->functions || !counts->functions[label].counted)
		return false;
	*calls = counts->functions[label].calls;
	return true;
}

bool counts_find_edge(const struct counts *counts, uint32_t caller, uint32_t callee,
		      uint64_t *calls)
{
	const struct count_edge wanted = {.caller = caller, .callee = callee};
	const struct count_edge *found = NULL;

	if (counts->nr_edges > 0)
		found = bsearch(&wanted, counts->edges, counts->nr_edges, sizeof(wanted),
				compare_edges);
	if (found)
		*calls = found->calls;
	return found != NULL;
}

size_t counts_first_edge(const struct counts *counts, uint32_t caller)
{
	size_t low = 0, high = counts->nr_edges;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (counts->edges[middle].caller < caller)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool counts_find_window(const struct counts *counts, uint32_t process, uint32_t key,
			uint64_t *from_ns, uint64_t *to_ns)
{
	const struct count_window wanted = {.process = counts->owners[process], .key = key};
	const struct count_window *found = NULL;

	if (counts->nr_windows > 0)
		found = bsearch(&wanted, counts->windows, counts->nr_windows, sizeof(wanted),
				compare_windows);
	if (found) {
		*from_ns = found->from_ns;
		*to_ns = found->to_ns;
	}
	return found != NULL;
}
