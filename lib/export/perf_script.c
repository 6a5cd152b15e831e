// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text of `perf script`: a block for each sample, in time order, which nearly every
 * viewer reads. The period is the weight; addresses are those of the module's file. A function of a
 * script has no address: its module is "app.py:12", where it begins.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/progress.h"
#include "base/sink.h"
#include "export/extract_priv.h"
#include "mapping/module.h"

struct entry {
	const struct point *point;
	const struct lane *lane;
};

struct text_span {
	size_t start, nr_bytes; /* nr_bytes 0: not there yet */
};

struct perf_script {
	const struct extract *extract;
	struct sink *sink;
	struct buf frames;	 /* the lines of every node so far, innermost first */
	struct text_span *spans; /* by node: where in frames */
	struct buf text;	 /* scratch */
};

/* Some readers drop a frame with a blank here: it becomes \x20. */
static void append_module(struct buf *out, const struct expansion *expansion, uint32_t label)
{
	const struct module *module = label_module(expansion, label);
	struct buf path = {0};

	escape_terminal(&path, module ? module->path : "[unknown]");
	if (label_is_script(expansion, label) && label_function(expansion, label))
		buf_printf(&path, ":%" PRIu32, label_function(expansion, label)->line);
	buf_append_str(out, " (");
	for (const char *at = buf_str(&path); *at; at++) {
		if (*at == ' ')
			buf_append_str(out, "\\x20");
		else
			buf_append_byte(out, (uint8_t)*at);
	}
	buf_append_str(out, ")\n");
	buf_release(&path);
}

/*
 * Readers find the ids after the first blank, a name only if it has two characters, and a comment
 * where it begins with a "#".
 */
static void append_thread_name(struct buf *out, const char *name)
{
	size_t start = out->nr_bytes;

	escape_terminal(out, name);
	for (size_t i = start; i < out->nr_bytes; i++) {
		if (out->bytes[i] == ' ' || (out->bytes[i] == '#' && i == start))
			out->bytes[i] = '_';
	}
	while (out->nr_bytes < start + 2)
		buf_append_byte(out, '_');
}

static bool is_script(const struct perf_script *out, const struct code_address *where)
{
	const struct module_table *modules = out->extract->profile->modules;

	return module_table_get(modules, where->module)->kind == MODULE_KIND_SCRIPT;
}

static void append_node(struct perf_script *out, uint32_t node)
{
	const struct expansion *expansion = out->extract->expansion;
	const struct code_address *where = path_frame_address(expansion, node);
	unsigned long long address = where && !is_script(out, where) ? where->address : 0;
	const struct level *levels;
	uint32_t nr;

	levels = path_frame_levels(expansion, node, &nr);
	while (nr) {
		const struct level *level = &levels[--nr];

		buf_printf(&out->frames, "\t%16llx ", address);
		escape_terminal(&out->frames, extract_name(out->extract, level->label));
		if (level->inlined)
			buf_append_str(&out->frames, " (inlined)\n");
		else
			append_module(&out->frames, expansion, level->label);
	}
}

static void write_node(struct perf_script *out, uint32_t node)
{
	struct text_span *span = &out->spans[node];

	if (!span->nr_bytes) {
		span->start = out->frames.nr_bytes;
		append_node(out, node);
		span->nr_bytes = out->frames.nr_bytes - span->start;
	}
	sink_write(out->sink, out->frames.bytes + span->start, span->nr_bytes);
}

static void write_head(struct perf_script *out, const struct entry *entry)
{
	const struct extract *extract = out->extract;
	const struct lane *lane = entry->lane;
	bool merged = lane->process == PROCESS_NONE;
	int number = (int)(lane - extract->lanes) + 1; /* several threads have no common id */
	uint64_t us = entry->point->end_ns / 1000;

	buf_clear(&out->text);
	append_thread_name(&out->text, profile_str(extract->profile, merged ? lane->process_name
									    : lane->thread_name));
	buf_printf(&out->text, " %d/%d [000] %llu.%06llu: %llu %s:\n", merged ? number : lane->pid,
		   merged ? number : lane->tid, (unsigned long long)(us / 1000000),
		   (unsigned long long)(us % 1000000), (unsigned long long)entry->point->weight,
		   extract_weight_name(extract));
	sink_write(out->sink, out->text.bytes, out->text.nr_bytes);
}

static void write_entry(struct perf_script *out, const struct entry *entry)
{
	const struct stack_trie *paths = out->extract->paths;
	struct stack_id path = entry->point->path;

	write_head(out, entry);
	for (; path.v != STACK_EMPTY.v; path = stack_trie_parent(paths, path))
		write_node(out, stack_trie_frame(paths, path).v);
	sink_str(out->sink, "\n");
}

static int by_time(const void *left, const void *right)
{
	const struct entry *a = left;
	const struct entry *b = right;

	if (a->point->end_ns != b->point->end_ns)
		return a->point->end_ns > b->point->end_ns ? 1 : -1;
	return (a->point > b->point) - (a->point < b->point);
}

static struct entry *entries_by_time(const struct extract *extract)
{
	struct entry *entries = xcalloc(extract->nr_points, sizeof(*entries));
	size_t nr = 0;

	for (size_t i = 0; i < extract->nr_lanes; i++) {
		const struct lane *lane = &extract->lanes[i];

		for (size_t j = lane->first; j < lane->first + lane->nr; j++)
			entries[nr++] = (struct entry){&extract->points[j], lane};
	}
	qsort(entries, nr, sizeof(*entries), by_time);
	return entries;
}

void write_perf_script(const struct extract *extract, struct sink *sink)
{
	struct perf_script out = {.extract = extract, .sink = sink};
	struct entry *entries = entries_by_time(extract);

	out.spans = xcalloc(path_nr_frame_nodes(extract->expansion), sizeof(*out.spans));
	for (size_t i = 0; i < extract->nr_points; i++) {
		write_entry(&out, &entries[i]);
		progress_set(extract->options->progress, i + 1, extract->nr_points);
	}
	free(entries);
	free(out.spans);
	buf_release(&out.frames);
	buf_release(&out.text);
}
