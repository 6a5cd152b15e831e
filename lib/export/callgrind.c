// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Callgrind's profile format, for KCachegrind and callgrind_annotate. It holds a call graph, not
 * stacks: own cost by source line, and the inclusive cost of each call.
 *
 * - A sampler has no counts: a call is written as one, unless its calls were counted exactly.
 *   calls=0 would make callgrind_annotate take the inclusive cost for own cost.
 * - Readers take the sum of the numbers of all calls to a function for its own. Where the entries
 *   of a function were counted but not all of its callers, a function in brackets makes the
 *   remaining calls.
 * - Readers take the sum of all calls to a function for its inclusive cost. So that recursion
 *   counts a stack once, only the call nearest to the root bears its cost; later calls to the same
 *   function are written with cost 0, and the graph is whole.
 * - For the same reason no function may be its own root: each process calls the roots of its stacks
 *   from a function of its name.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/index_set.h"
#include "base/sink.h"
#include "export/count_stacks_priv.h"
#include "export/extract_priv.h"
#include "export/numbering_priv.h"
#include "export/path_sums_priv.h"
#include "mapping/module.h"

#define NO_CALLEE UINT32_MAX

/* A line of the file: the self cost of a place, or the cost of a call from there. */
struct cost {
	uint32_t place;	 /* of the expansion; from nr_places on: see function_of() */
	uint32_t callee; /* its label, or NO_CALLEE */
	uint64_t weight;
	uint64_t calls; /* counted ones; 0: there are none, or they were not counted */
};

struct callgrind {
	const struct extract *extract;
	struct sink *sink;
	struct cost *costs; /* distinct by (place, callee) */
	size_t nr_costs, cap_costs;
	struct index_set index;
	uint32_t *stamp_of_label; /* the last stack in which a call to it bore the cost */
	uint32_t stamp;
	struct path_nodes path; /* scratch: places */
	/* The format's name compression: "(1) name" at first, "(1)" afterwards. */
	struct numbering files;	    /* of str_ids of the profile; STR_EMPTY: unknown */
	struct numbering functions; /* of function_of() */
	struct numbering modules;
	struct buf text; /* scratch */
};

/* --- the graph --- */

static bool cost_equal(const void *owner, uint32_t index, const void *key)
{
	const struct callgrind *out = owner;
	const struct cost *wanted = key;

	return out->costs[index].place == wanted->place &&
	       out->costs[index].callee == wanted->callee;
}

/* Borrowed until the next one. */
static struct cost *add_cost(struct callgrind *out, uint32_t place, uint32_t callee,
			     uint64_t weight)
{
	struct cost cost = {.place = place, .callee = callee};
	uint64_t hash = hash_u64((uint64_t)place << 32 | callee);
	uint32_t found = index_set_find(&out->index, hash, cost_equal, out, &cost);

	if (found == INDEX_NONE) {
		found = (uint32_t)out->nr_costs;
		ARRAY_GROW(out->costs, out->nr_costs, out->cap_costs);
		out->costs[out->nr_costs++] = cost;
		index_set_add(&out->index, hash, found);
	}
	out->costs[found].weight += weight;
	return &out->costs[found];
}

/* The label of a place; from nr_labels on, the process of a lane, and last the unknown caller. */
static uint32_t function_of(const struct expansion *expansion, uint32_t place)
{
	if (place < expansion->nr_places)
		return expansion->places[place].label;
	return place - (uint32_t)expansion->nr_places + (uint32_t)expansion->nr_labels;
}

static void add_path(struct callgrind *out, uint32_t lane, const struct path_sum *sum)
{
	const struct expansion *expansion = out->extract->expansion;
	uint32_t caller = (uint32_t)expansion->nr_places + lane;

	path_nodes_of(&out->path, out->extract->paths, sum->path);
	out->stamp++;
	for (uint32_t i = 0; i < out->path.nr; i++) {
		uint32_t label = function_of(expansion, out->path.nodes[i]);
		bool bears = out->stamp_of_label[label] != out->stamp;

		add_cost(out, caller, label, bears ? sum->weight : 0);
		out->stamp_of_label[label] = out->stamp;
		caller = out->path.nodes[i];
	}
	add_cost(out, caller, NO_CALLEE, sum->weight);
}

static void add_lane(struct callgrind *out, struct path_sums *sums, uint32_t lane)
{
	path_sums_lane(sums, out->extract, &out->extract->lanes[lane]);
	for (size_t i = 0; i < sums->nr_sums; i++) {
		add_path(out, lane, &sums->sums[i]);
		extract_passed(out->extract, &out->extract->lanes[lane], i + 1, sums->nr_sums);
	}
}

/* Counts are of all threads together. */
static void add_counts(struct callgrind *out)
{
	const struct expansion *expansion = out->extract->expansion;
	uint32_t unknown_caller = (uint32_t)(expansion->nr_places + out->extract->nr_lanes);
	cleanup_free uint64_t *rest = xcalloc(expansion->nr_labels, sizeof(*rest));
	struct count_stacks stacks;

	count_stacks_init(&stacks, out->extract);
	for (size_t i = 0; i < stacks.nr; i++) {
		const struct count_stack *stack = &stacks.stacks[i];
		uint32_t callee;

		if (stack->callee.v == COUNT_NO_CALLEE.v)
			continue; /* the format cannot express a call to an unknown callee */
		callee = expansion_outermost(expansion, stack->callee)->label;
		if (stack->caller.v == COUNT_NO_CALLER.v)
			rest[callee] += stack->calls;
		else
			add_cost(out, expansion_innermost(expansion, stack->caller)->place, callee,
				 0)
				->calls += stack->calls;
	}
	count_stacks_release(&stacks);
	/* Each call that was seen only in samples becomes one of these. */
	for (size_t i = 0; i < out->nr_costs; i++) {
		const struct cost *cost = &out->costs[i];

		if (cost->callee != NO_CALLEE && !cost->calls && rest[cost->callee])
			rest[cost->callee]--;
	}
	for (uint32_t label = 0; label < expansion->nr_labels; label++) {
		if (rest[label])
			add_cost(out, unknown_caller, label, 0)->calls = rest[label];
	}
}

static int compare_numbers(uint32_t left, uint32_t right)
{
	return (left > right) - (left < right);
}

/* By function, own costs before calls, then by place. */
static int by_function(const void *left, const void *right, void *expansion)
{
	const struct cost *a = left;
	const struct cost *b = right;
	int order =
		compare_numbers(function_of(expansion, a->place), function_of(expansion, b->place));

	if (!order)
		order = (a->callee != NO_CALLEE) - (b->callee != NO_CALLEE);
	if (!order)
		order = compare_numbers(a->place, b->place);
	return order ? order : compare_numbers(a->callee, b->callee);
}

/* --- writing --- */

/* "key=(1) name" or "key=(1)". */
static void write_name(struct callgrind *out, const char *key, struct numbering *names, uint32_t id,
		       const char *name)
{
	uint32_t nr_before = names->nr;

	buf_clear(&out->text);
	buf_printf(&out->text, "%s=(%u)", key, numbering_of(names, id) + 1);
	if (names->nr > nr_before) {
		buf_append_byte(&out->text, ' ');
		escape_terminal(&out->text, name);
	}
	buf_append_byte(&out->text, '\n');
	sink_write(out->sink, out->text.bytes, out->text.nr_bytes);
}

static void write_file(struct callgrind *out, const char *key, struct str_id file)
{
	const char *name = profile_str(out->extract->profile, file);

	write_name(out, key, &out->files, file.v, name[0] ? name : "???");
}

static void write_module(struct callgrind *out, const char *key, struct module_id id)
{
	const struct module *module = module_table_get(out->extract->profile->modules, id);

	write_name(out, key, &out->modules, id.v,
		   module->kind == MODULE_KIND_UNKNOWN ? "???" : module->path);
}

static struct module_id module_of(const struct callgrind *out, uint32_t label)
{
	return out->extract->expansion->labels[label].module;
}

static struct str_id definition_file(const struct callgrind *out, uint32_t label)
{
	const struct function *function = label_function(out->extract->expansion, label);

	return function ? function->file : STR_EMPTY;
}

/* The file of a place may differ from its function's: "fi" leaves that one, "fe" returns to it. */
static void write_place_file(struct callgrind *out, const struct place *place, struct str_id *file)
{
	if (!place->line || place->file.v == file->v)
		return;
	*file = place->file;
	write_file(out, file->v == definition_file(out, place->label).v ? "fe" : "fi", *file);
}

/* "LINE COST" */
static void write_cost(struct callgrind *out, const struct cost *cost, struct str_id *file)
{
	const struct expansion *expansion = out->extract->expansion;
	uint32_t line = 0;

	if (cost->place < expansion->nr_places) {
		write_place_file(out, &expansion->places[cost->place], file);
		line = expansion->places[cost->place].line;
	}
	if (cost->callee != NO_CALLEE) {
		write_module(out, "cob", module_of(out, cost->callee));
		write_file(out, "cfi", definition_file(out, cost->callee));
		write_name(out, "cfn", &out->functions, cost->callee,
			   extract_name(out->extract, cost->callee));
		sink_printf(out->sink, "calls=%llu %u\n",
			    (unsigned long long)(cost->calls ? cost->calls : 1),
			    extract_function_line(out->extract, cost->callee));
	}
	sink_printf(out->sink, "%u %llu\n", line, (unsigned long long)cost->weight);
}

static void write_process_head(struct callgrind *out, uint32_t function)
{
	size_t lane = function - out->extract->expansion->nr_labels;
	struct buf text = {0};

	write_module(out, "ob", MODULE_UNKNOWN);
	write_file(out, "fl", STR_EMPTY);
	if (lane == out->extract->nr_lanes)
		buf_append_str(&text, "[unknown caller]");
	else
		buf_printf(
			&text, "[%s]",
			profile_str(out->extract->profile, out->extract->lanes[lane].process_name));
	write_name(out, "fn", &out->functions, function, buf_str(&text));
	buf_release(&text);
}

static void write_function_head(struct callgrind *out, uint32_t label)
{
	write_module(out, "ob", module_of(out, label));
	write_file(out, "fl", definition_file(out, label));
	write_name(out, "fn", &out->functions, label, extract_name(out->extract, label));
}

static void write_costs(struct callgrind *out)
{
	const struct expansion *expansion = out->extract->expansion;
	uint32_t function = UINT32_MAX;
	struct str_id file = STR_EMPTY;

	for (size_t i = 0; i < out->nr_costs; i++) {
		const struct cost *cost = &out->costs[i];

		if (function_of(expansion, cost->place) != function) {
			function = function_of(expansion, cost->place);
			sink_str(out->sink, "\n");
			if (function < expansion->nr_labels) {
				file = definition_file(out, function);
				write_function_head(out, function);
			} else {
				write_process_head(out, function);
			}
		}
		write_cost(out, cost, &file);
	}
}

/* Marks as descriptions, which callgrind_annotate(1) shows: the format has no time line. */
static void append_marks(struct callgrind *out)
{
	const struct extract *extract = out->extract;
	struct buf text = {0};

	for (size_t i = 0; i < extract->nr_marks; i++) {
		buf_clear(&text);
		extract_append_mark(&text, extract, &extract->marks[i]);
		buf_append_str(&out->text, "\ndesc: ");
		escape_terminal(&out->text, buf_str(&text));
	}
	buf_release(&text);
}

static void write_head(struct callgrind *out)
{
	struct buf title = {0};
	const char *event = extract_weight_name(out->extract);

	extract_append_title(&title, out->extract);
	buf_clear(&out->text);
	buf_append_str(&out->text,
		       "# callgrind format\nversion: 1\ncreator: profc " PROFC_VERSION "\ncmd: ");
	escape_terminal(&out->text, buf_str(&title));
	append_marks(out);
	buf_printf(&out->text, "\npositions: line\nevent: %s : %s%s\nevents: %s\n", event,
		   extract_is_time(out->extract)    ? "time in "
		   : extract_is_bytes(out->extract) ? "memory in "
						    : "number of ",
		   extract_unit(out->extract), event);
	sink_write(out->sink, out->text.bytes, out->text.nr_bytes);
	buf_release(&title);
}

/* Write the costs added so far as a part of the file, and clear them for the next part. */
static void write_part(struct callgrind *out, uint64_t weight)
{
	sink_printf(out->sink, "summary: %llu\n", (unsigned long long)weight);
	qsort_r(out->costs, out->nr_costs, sizeof(*out->costs), by_function,
		(void *)(uintptr_t)out->extract->expansion);
	write_costs(out);
	sink_printf(out->sink, "\ntotals: %llu\n", (unsigned long long)weight);
	index_set_release(&out->index);
	out->nr_costs = 0;
}

static void write_merged(struct callgrind *out, struct path_sums *sums)
{
	for (size_t i = 0; i < out->extract->nr_lanes; i++)
		add_lane(out, sums, (uint32_t)i);
	add_counts(out);
	write_part(out, out->extract->weight);
}

/* A part for each thread, as callgrind --separate-threads writes them. */
static void write_split(struct callgrind *out, struct path_sums *sums)
{
	for (size_t i = 0; i < out->extract->nr_lanes; i++) {
		const struct lane *lane = &out->extract->lanes[i];
		struct buf name = {0};

		extract_append_lane_name(&name, out->extract, lane);
		buf_clear(&out->text);
		buf_printf(&out->text,
			   "%spid: %d\npart: 1\nthread: %d\ndesc: Thread: ", i ? "\n" : "",
			   lane->pid, lane->tid);
		escape_terminal(&out->text, buf_str(&name));
		buf_append_byte(&out->text, '\n');
		sink_write(out->sink, out->text.bytes, out->text.nr_bytes);
		buf_release(&name);
		add_lane(out, sums, (uint32_t)i);
		write_part(out, lane->weight);
	}
}

void write_callgrind(const struct extract *extract, struct sink *sink)
{
	const struct profile *profile = extract->profile;
	size_t nr_labels = extract->expansion->nr_labels;
	struct callgrind out = {.extract = extract, .sink = sink};
	struct path_sums sums = {0};

	out.stamp_of_label = xcalloc(nr_labels, sizeof(*out.stamp_of_label));
	numbering_init(&out.files, strtab_nr(profile->strings));
	numbering_init(&out.functions, nr_labels + extract->nr_lanes + 1);
	numbering_init(&out.modules, module_table_nr(profile->modules));
	write_head(&out);
	if (extract->options->threads == EXPORT_THREADS_SPLIT)
		write_split(&out, &sums);
	else
		write_merged(&out, &sums);
	free(out.costs);
	path_nodes_release(&out.path);
	index_set_release(&out.index);
	free(out.stamp_of_label);
	numbering_release(&out.files);
	numbering_release(&out.functions);
	numbering_release(&out.modules);
	buf_release(&out.text);
	path_sums_release(&sums);
}
