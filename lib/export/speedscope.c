// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * speedscope's own file format: sampled profiles over one table of frames.
 *
 * - A viewer's row is a frame of the table, so there is one for each function (file and line of its
 *   definition), not one for each line or inlined copy.
 * - Each lane is a profile whose weights add up to the lane's total. Neighbours with equal stacks
 *   are one sample with the sum of the weights.
 * - startValue is when the lane's first sample began, on the recording's clock, and endValue that
 *   plus the weights: with the wall metric, when it really ended. The viewer aligns profiles only
 *   by the samples it draws, hence the option `idle`: samples with an empty stack fill each lane
 *   from 0 to the end of the recording.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/sink.h"
#include "export/extract_priv.h"
#include "export/numbering_priv.h"
#include "export/timeline_priv.h"

struct span {
	size_t start;
	uint32_t nr_bytes;
};

/* ",12" at the end of it: the number of a frame, as it follows another. */
struct number_text {
	char text[15];
	uint8_t nr_bytes;
};

struct speedscope {
	const struct extract *extract;
	struct sink *sink;
	struct numbering frames;     /* shared.frames, of labels */
	struct number_text *numbers; /* of frames, by label */
	struct buf path;	     /* scratch */
	struct buf texts;	     /* "[1,2,3]" of every path written so far */
	struct span *spans;	     /* by path: where in texts; nr_bytes 0: not there yet */
};

/* One element of samples[] and weights[]. */
struct entry {
	struct stack_id path; /* STACK_EMPTY: idle */
	uint64_t weight;
};

struct entry_list {
	struct entry *entries;
	size_t nr, cap;
};

static void write_frame(struct json *json, const struct extract *extract, uint32_t label)
{
	const char *file = extract_function_file(extract, label);
	uint32_t line = extract_function_line(extract, label);

	json_object_begin(json);
	json_key_str(json, "name", extract_name(extract, label));
	if (file) {
		json_key(json, "file");
		json_str(json, file);
	}
	if (line) {
		json_key(json, "line");
		json_u64(json, line);
	}
	json_object_end(json);
}

static struct number_text text_of(uint32_t number)
{
	struct number_text text = {.nr_bytes = 0};

	do {
		text.text[sizeof(text.text) - ++text.nr_bytes] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	text.text[sizeof(text.text) - ++text.nr_bytes] = ',';
	return text;
}

/* Number the labels that any written path has, and write their frames. */
static void write_frames(struct speedscope *out, struct json *json)
{
	const struct extract *extract = out->extract;
	uint32_t nr_paths = stack_trie_nr(extract->paths);

	for (uint32_t path = 1; path < nr_paths; path++)
		numbering_of(&out->frames,
			     stack_trie_frame(extract->paths, (struct stack_id){path}).v);
	for (uint32_t i = 0; i < out->frames.nr; i++) {
		out->numbers[out->frames.ids[i]] = text_of(i);
		write_frame(json, extract, out->frames.ids[i]);
	}
}

/* Backwards, as paths are walked: "[1,2,3]". */
static void append_path(struct speedscope *out, struct stack_id path)
{
	const struct stack_trie *paths = out->extract->paths;
	size_t nr_bytes = (stack_trie_depth(paths, path) + (size_t)1) * sizeof(out->numbers->text);
	char *end, *at;

	buf_clear(&out->path);
	end = at = (char *)buf_extend(&out->path, nr_bytes) + nr_bytes;
	*--at = ']';
	for (; path.v != STACK_EMPTY.v; path = stack_trie_parent(paths, path)) {
		const struct number_text *number = &out->numbers[stack_trie_frame(paths, path).v];

		/* All of it, which is quicker than as much as counts. */
		memcpy(at - sizeof(number->text), number->text, sizeof(number->text));
		at -= number->nr_bytes;
	}
	if (end - at == 1) /* idle */
		at--;
	*at = '['; /* else in place of the first comma */
	buf_append(&out->texts, at, (size_t)(end - at));
}

/* Millions of samples share some thousands of paths: each is formatted once. */
static void write_path(struct speedscope *out, struct stack_id path)
{
	struct span *span = &out->spans[path.v];

	if (!span->nr_bytes) {
		span->start = out->texts.nr_bytes;
		append_path(out, path);
		span->nr_bytes = (uint32_t)(out->texts.nr_bytes - span->start);
	}
	sink_write(out->sink, out->texts.bytes + span->start, span->nr_bytes);
}

static void add_entry(struct entry_list *list, struct stack_id path, uint64_t weight)
{
	struct entry *last = list->nr ? &list->entries[list->nr - 1] : NULL;

	if (last && last->path.v == path.v) {
		last->weight += weight;
		return;
	}
	ARRAY_GROW(list->entries, list->nr, list->cap);
	list->entries[list->nr++] = (struct entry){path, weight};
}

/* Everything where it happened, from 0 to the end of the recording, which is returned. */
static uint64_t make_entries_with_gaps(struct entry_list *list, const struct extract *extract,
				       const struct lane *lane)
{
	uint64_t end_ns = extract->profile->meta.duration_ns;
	struct timeline timeline = {0};
	uint64_t now_ns = 0;

	timeline_of_lane(&timeline, extract, lane);
	for (size_t i = 0; i < timeline.nr_runs; i++) {
		const struct run *run = &timeline.runs[i];

		if (run->start_ns > now_ns)
			add_entry(list, STACK_EMPTY, run->start_ns - now_ns);
		add_entry(list, run->path, run->duration_ns);
		now_ns = run->start_ns + run->duration_ns;
	}
	if (end_ns > now_ns)
		add_entry(list, STACK_EMPTY, end_ns - now_ns);
	timeline_release(&timeline);
	return end_ns > now_ns ? end_ns : now_ns;
}

static void make_entries(struct entry_list *list, const struct extract *extract,
			 const struct lane *lane)
{
	for (size_t i = lane->first; i < lane->first + lane->nr; i++)
		add_entry(list, extract->points[i].path, extract->points[i].weight);
}

static uint64_t start_of(const struct extract *extract, const struct lane *lane)
{
	const struct point *first = &extract->points[lane->first];

	if (!extract_is_time(extract) || first->wall_ns > first->end_ns)
		return 0;
	return first->end_ns - first->wall_ns;
}

static void write_entries(struct speedscope *out, const struct lane *lane,
			  const struct entry_list *list)
{
	struct buf weights = {0};

	sink_str(out->sink, ",\"samples\":[");
	for (size_t i = 0; i < list->nr; i++) {
		if (i)
			sink_write(out->sink, ",\n", 2);
		write_path(out, list->entries[i].path);
		if (i % 1024 == 0)
			extract_passed(out->extract, lane, i + 1, list->nr);
	}
	sink_str(out->sink, "],\n\"weights\":[");
	for (size_t i = 0; i < list->nr; i++) {
		if (i)
			buf_append_byte(&weights, ',');
		buf_append_decimal(&weights, list->entries[i].weight);
	}
	sink_write(out->sink, weights.bytes, weights.nr_bytes);
	sink_str(out->sink, "]");
	buf_release(&weights);
}

static void write_lane(struct speedscope *out, struct json *json, const struct lane *lane)
{
	const struct extract *extract = out->extract;
	bool gaps = extract->options->idle && extract_is_time(extract);
	struct entry_list list = {0};
	struct buf name = {0};
	uint64_t start, end;

	if (gaps) {
		start = 0;
		end = make_entries_with_gaps(&list, extract, lane);
	} else {
		make_entries(&list, extract, lane);
		start = start_of(extract, lane);
		end = start + lane->weight;
	}
	extract_append_lane_name(&name, extract, lane);
	json_object_begin(json);
	json_key_str(json, "type", "sampled");
	json_key_str(json, "name", buf_str(&name));
	json_key_str(json, "unit",
		     extract_is_time(extract)	 ? "nanoseconds"
		     : extract_is_bytes(extract) ? "bytes"
						 : "none");
	json_key_u64(json, "startValue", start);
	json_key_u64(json, "endValue", end);
	write_entries(out, lane, &list);
	json_object_end(json);
	buf_release(&name);
	free(list.entries);
}

static void write_document(struct speedscope *out)
{
	const struct extract *extract = out->extract;
	struct buf title = {0};
	struct json json;

	extract_append_title(&title, extract);
	json_init(&json, out->sink);
	json_object_begin(&json);
	json_key_str(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_key_str(&json, "exporter", "profc@" PROFC_VERSION);
	json_key_str(&json, "name", buf_str(&title));
	json_key_u64(&json, "activeProfileIndex", extract_heaviest_lane(extract));
	json_key_object_begin(&json, "shared");
	json_key_array_begin(&json, "frames");
	write_frames(out, &json);
	json_array_end(&json);
	json_object_end(&json);
	json_key_array_begin(&json, "profiles");
	for (size_t i = 0; i < extract->nr_lanes; i++)
		write_lane(out, &json, &extract->lanes[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
	buf_release(&title);
}

void write_speedscope(const struct extract *extract, struct sink *sink)
{
	uint32_t nr_paths = stack_trie_nr(extract->paths);
	struct speedscope out = {.extract = extract, .sink = sink};

	numbering_init(&out.frames, extract->expansion->nr_labels);
	out.numbers = xcalloc(extract->expansion->nr_labels, sizeof(*out.numbers));
	out.spans = xcalloc(nr_paths, sizeof(*out.spans));
	write_document(&out);
	numbering_release(&out.frames);
	free(out.spans);
	free(out.numbers);
	buf_release(&out.path);
	buf_release(&out.texts);
}
