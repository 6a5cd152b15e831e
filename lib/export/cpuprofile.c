// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * V8's CPU profile, as VS Code, the developer tools of Chromium and speedscope read it: one tree of
 * functions, the nodes that were seen in order of time, and how long after each other.
 *
 * - The format has one time line. Of several threads each is a node below the root, and they follow
 *   one another in it; a thread's runs do so without the gaps between them.
 * - A node lasts until the next sample, so the root is the last one, for no time.
 * - VS Code adds up times, Chromium hits, each of which it takes to be equally long, and both take
 *   ticks of lines to be a part of these: here each is a microsecond.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/sink.h"
#include "export/extract_priv.h"
#include "export/timeline_priv.h"

struct entry {
	struct stack_id node;
	uint64_t duration_ns;
};

/* The self time of a line in a node's function. */
struct tick {
	struct stack_id node;
	uint32_t line;
	uint64_t ns;
};

struct cpuprofile {
	const struct extract *extract;
	struct json json;
	struct stack_trie *nodes; /* frames are labels, from nr_labels on lanes; empty: the root */
	uint64_t *path_ns;	  /* by path, of the lane at hand */
	struct stack_id *path_nodes; /* by path: its node in that lane, empty: not known yet */
	struct path_nodes places;    /* scratch: those of a path */
	struct entry *entries;
	size_t nr_entries, cap_entries;
	struct tick *ticks;
	size_t nr_ticks, cap_ticks;
};

static struct stack_id node_of(struct cpuprofile *out, struct stack_id top, struct stack_id path)
{
	const struct expansion *expansion = out->extract->expansion;
	struct stack_id *node = &out->path_nodes[path.v];

	if (node->v != STACK_EMPTY.v)
		return *node;
	*node = top;
	path_nodes_of(&out->places, out->extract->paths, path);
	for (uint32_t i = 0; i < out->places.nr; i++) {
		struct frame_id label = {expansion->places[out->places.nodes[i]].label};

		*node = stack_trie_intern(out->nodes, *node, label);
	}
	return *node;
}

static void add_entry(struct cpuprofile *out, struct stack_id node, uint64_t duration_ns)
{
	struct entry *last = out->nr_entries ? &out->entries[out->nr_entries - 1] : NULL;

	if (last && last->node.v == node.v) {
		last->duration_ns += duration_ns;
		return;
	}
	ARRAY_GROW(out->entries, out->nr_entries, out->cap_entries);
	out->entries[out->nr_entries++] = (struct entry){node, duration_ns};
}

/* Moves the times of a lane's paths to the ticks of their lines. */
static void take_ticks(struct cpuprofile *out)
{
	const struct extract *extract = out->extract;
	uint32_t nr_paths = stack_trie_nr(extract->paths);

	for (uint32_t i = 1; i < nr_paths; i++) {
		uint32_t place = stack_trie_frame(extract->paths, (struct stack_id){i}).v;

		if (!out->path_ns[i])
			continue;
		ARRAY_GROW(out->ticks, out->nr_ticks, out->cap_ticks);
		out->ticks[out->nr_ticks++] =
			(struct tick){.node = out->path_nodes[i],
				      .line = extract->expansion->places[place].line,
				      .ns = out->path_ns[i]};
		out->path_ns[i] = 0;
		out->path_nodes[i] = STACK_EMPTY;
	}
}

static void add_lanes(struct cpuprofile *out)
{
	const struct extract *extract = out->extract;
	uint32_t nr_labels = (uint32_t)extract->expansion->nr_labels;
	struct timeline timeline = {0};

	for (size_t i = 0; i < extract->nr_lanes; i++) {
		const struct lane *lane = &extract->lanes[i];
		struct frame_id name = {nr_labels + (uint32_t)i};
		struct stack_id top = STACK_EMPTY;

		if (extract->nr_lanes > 1)
			top = stack_trie_intern(out->nodes, STACK_EMPTY, name);
		timeline_of_lane(&timeline, extract, lane);
		for (size_t j = 0; j < timeline.nr_runs; j++) {
			const struct run *run = &timeline.runs[j];

			add_entry(out, node_of(out, top, run->path), run->duration_ns);
			out->path_ns[run->path.v] += run->duration_ns;
			extract_passed(extract, lane, j + 1, timeline.nr_runs);
		}
		take_ticks(out);
	}
	timeline_release(&timeline);
}

static int by_node_and_line(const void *a_, const void *b_)
{
	const struct tick *a = a_, *b = b_;

	if (a->node.v != b->node.v)
		return a->node.v < b->node.v ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

/* Sorts them, and makes one of those of one line of a node. */
static void merge_ticks(struct cpuprofile *out)
{
	size_t nr = 0;

	if (out->nr_ticks)
		qsort(out->ticks, out->nr_ticks, sizeof(*out->ticks), by_node_and_line);
	for (size_t i = 0; i < out->nr_ticks; i++) {
		if (nr && by_node_and_line(&out->ticks[nr - 1], &out->ticks[i]) == 0)
			out->ticks[nr - 1].ns += out->ticks[i].ns;
		else
			out->ticks[nr++] = out->ticks[i];
	}
	out->nr_ticks = nr;
}

static uint64_t in_us(uint64_t ns)
{
	return (ns + 500) / 1000;
}

static void write_exact_us(struct cpuprofile *out, uint64_t ns)
{
	json_double(&out->json, (double)ns / 1000, 3);
}

/* Lines and columns count from 0 there; -1 is none. */
static void write_call_frame(struct cpuprofile *out, struct stack_id node)
{
	const struct extract *extract = out->extract;
	uint32_t nr_labels = (uint32_t)extract->expansion->nr_labels, line = 0;
	const char *file = NULL;
	struct buf name = {0};

	if (node.v == STACK_EMPTY.v) {
		buf_append_str(&name, "(root)");
	} else {
		uint32_t label = stack_trie_frame(out->nodes, node).v;

		if (label < nr_labels) {
			buf_append_str(&name, extract_name(extract, label));
			file = extract_function_file(extract, label);
			line = extract_function_line(extract, label);
		} else {
			extract_append_lane_name(&name, extract,
						 &extract->lanes[label - nr_labels]);
		}
	}
	json_key_object_begin(&out->json, "callFrame");
	json_key_str(&out->json, "functionName", buf_str(&name));
	json_key_str(&out->json, "scriptId", "0");
	json_key_str(&out->json, "url", file ? file : "");
	json_key(&out->json, "lineNumber");
	json_i64(&out->json, (int64_t)line - 1);
	json_key(&out->json, "columnNumber");
	json_i64(&out->json, line ? 0 : -1);
	json_object_end(&out->json);
	buf_release(&name);
}

/* All of a node, and of its lines those that are known; *next is its first one, and moves on. */
static void write_ticks(struct cpuprofile *out, struct stack_id node, size_t *next)
{
	size_t first = *next, last = first;
	uint64_t ns = 0;

	for (; last < out->nr_ticks && out->ticks[last].node.v == node.v; last++)
		ns += out->ticks[last].ns;
	*next = last;
	json_key_u64(&out->json, "hitCount", in_us(ns));
	if (first < last && !out->ticks[first].line)
		first++;
	if (first == last)
		return;
	json_key_array_begin(&out->json, "positionTicks");
	for (size_t i = first; i < last; i++) {
		json_object_begin(&out->json);
		json_key_u64(&out->json, "line", out->ticks[i].line);
		json_key_u64(&out->json, "ticks", in_us(out->ticks[i].ns));
		json_object_end(&out->json);
	}
	json_array_end(&out->json);
}

static void write_nodes(struct cpuprofile *out)
{
	uint32_t nr = stack_trie_nr(out->nodes);
	uint32_t *first_child = xcalloc(nr, sizeof(*first_child));
	uint32_t *sibling = xcalloc(nr, sizeof(*sibling));
	size_t tick = 0;

	for (uint32_t i = nr - 1; i > 0; i--) {
		uint32_t parent = stack_trie_parent(out->nodes, (struct stack_id){i}).v;

		sibling[i] = first_child[parent];
		first_child[parent] = i;
	}
	json_key_array_begin(&out->json, "nodes");
	for (uint32_t i = 0; i < nr; i++) {
		json_object_begin(&out->json);
		json_key_u64(&out->json, "id", (uint64_t)i + 1);
		write_call_frame(out, (struct stack_id){i});
		write_ticks(out, (struct stack_id){i}, &tick);
		json_key_array_begin(&out->json, "children");
		for (uint32_t child = first_child[i]; child; child = sibling[child])
			json_u64(&out->json, (uint64_t)child + 1);
		json_array_end(&out->json);
		json_object_end(&out->json);
	}
	json_array_end(&out->json);
	free(first_child);
	free(sibling);
}

static void write_times(struct cpuprofile *out)
{
	uint64_t total_ns = 0;

	json_key_array_begin(&out->json, "samples");
	for (size_t i = 0; i < out->nr_entries; i++) {
		json_u64(&out->json, (uint64_t)out->entries[i].node.v + 1);
		total_ns += out->entries[i].duration_ns;
	}
	json_u64(&out->json, (uint64_t)STACK_EMPTY.v + 1);
	json_array_end(&out->json);
	json_key_array_begin(&out->json, "timeDeltas");
	json_u64(&out->json, 0);
	for (size_t i = 0; i < out->nr_entries; i++)
		write_exact_us(out, out->entries[i].duration_ns);
	json_array_end(&out->json);
	json_key_u64(&out->json, "startTime", 0);
	json_key(&out->json, "endTime");
	write_exact_us(out, total_ns);
}

void write_cpuprofile(const struct extract *extract, struct sink *sink)
{
	uint32_t nr_paths = stack_trie_nr(extract->paths);
	struct cpuprofile out = {.extract = extract, .nodes = stack_trie_new()};

	out.path_ns = xcalloc(nr_paths, sizeof(*out.path_ns));
	out.path_nodes = xcalloc(nr_paths, sizeof(*out.path_nodes));
	add_lanes(&out);
	merge_ticks(&out);
	json_init(&out.json, sink);
	json_object_begin(&out.json);
	write_nodes(&out);
	write_times(&out);
	json_object_end(&out.json);
	json_finish(&out.json);
	stack_trie_free(out.nodes);
	path_nodes_release(&out.places);
	free(out.path_ns);
	free(out.path_nodes);
	free(out.entries);
	free(out.ticks);
}
