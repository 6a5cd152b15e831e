// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chrome's trace events, as Perfetto and chrome://tracing read them: a slice for each
 * function for as long as it stays on the stack. Begin and end events rather than
 * complete ones, so that children end exactly when their parents do: readers add
 * start and duration of complete events as doubles. Times are microseconds.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/sink.h"
#include "export/extract_priv.h"
#include "export/timeline_priv.h"

struct chrome {
	const struct extract *extract;
	struct sink *sink;
	struct buf names;    /* of all labels, escaped, back to back */
	size_t *starts;	     /* by label, and the end of the last */
	struct buf lane_ids; /* `,"pid":1,"tid":2,"name":"` of the lane being written */
	uint32_t *open;	     /* labels of the open slices, root first */
	size_t nr_open, cap_open;
	struct path_nodes path; /* scratch: labels of the next run */
	struct buf line;	/* scratch */
};

static void make_names(struct chrome *chrome)
{
	uint32_t nr_labels = (uint32_t)chrome->extract->expansion->nr_labels;
	struct buf name = {0};

	chrome->starts = xcalloc((size_t)nr_labels + 1, sizeof(*chrome->starts));
	for (uint32_t i = 0; i < nr_labels; i++) {
		buf_clear(&name);
		extract_append_placed_name(&name, chrome->extract, i);
		chrome->starts[i] = chrome->names.nr_bytes;
		escape_json(&chrome->names, buf_str(&name));
	}
	chrome->starts[nr_labels] = chrome->names.nr_bytes;
	buf_release(&name);
}

/* Nanoseconds as decimal microseconds, exactly. */
static void append_us(struct buf *out, uint64_t ns)
{
	uint64_t rest = ns % 1000;

	buf_append_decimal(out, ns / 1000);
	buf_append_byte(out, '.');
	buf_append_byte(out, (uint8_t)('0' + rest / 100));
	buf_append_byte(out, (uint8_t)('0' + rest / 10 % 10));
	buf_append_byte(out, (uint8_t)('0' + rest % 10));
}

static void write_event(struct chrome *chrome, const char *head, uint64_t ns, uint32_t label)
{
	struct buf *line = &chrome->line;
	size_t start = chrome->starts[label];

	buf_clear(line);
	buf_append_str(line, head);
	append_us(line, ns);
	buf_append(line, chrome->lane_ids.bytes, chrome->lane_ids.nr_bytes);
	buf_append(line, chrome->names.bytes + start, chrome->starts[label + 1] - start);
	buf_append_str(line, "\"}");
	sink_write(chrome->sink, line->bytes, line->nr_bytes);
}

static void close_slices(struct chrome *chrome, size_t nr_kept, uint64_t ns)
{
	while (chrome->nr_open > nr_kept)
		write_event(chrome, ",\n{\"ph\":\"E\",\"ts\":", ns,
			    chrome->open[--chrome->nr_open]);
}

/*
 * Readers that sort by time take a begin and an end of one name at one moment for a
 * slice of no duration. Does a slice that closes have the name of the first that opens?
 */
static bool reopens(const struct chrome *chrome, size_t common, uint32_t label)
{
	const char *name = extract_name(chrome->extract, label);

	for (size_t i = common; i < chrome->nr_open; i++) {
		if (strcmp(extract_name(chrome->extract, chrome->open[i]), name) == 0)
			return true;
	}
	return false;
}

static void open_slice(struct chrome *chrome, uint32_t label, uint64_t ns)
{
	write_event(chrome, ",\n{\"ph\":\"B\",\"ts\":", ns, label);
	ARRAY_GROW(chrome->open, chrome->nr_open, chrome->cap_open);
	chrome->open[chrome->nr_open++] = label;
}

/* Close and open slices to change from the open path to another; their common part stays open. */
static void change_path(struct chrome *chrome, struct stack_id path, uint64_t ns)
{
	const struct path_nodes *next = &chrome->path;
	uint32_t common = 0;

	path_nodes_of(&chrome->path, chrome->extract->paths, path);
	while (common < next->nr && common < chrome->nr_open &&
	       chrome->open[common] == next->nodes[common])
		common++;
	if (common < next->nr && reopens(chrome, common, next->nodes[common]))
		close_slices(chrome, common, ns - 1);
	close_slices(chrome, common, ns);
	while (common < next->nr)
		open_slice(chrome, next->nodes[common++], ns);
}

static void write_lane(struct chrome *chrome, const struct lane *lane,
		       const struct timeline *timeline)
{
	uint64_t now_ns = 0;

	for (size_t i = 0; i < timeline->nr_runs; i++) {
		const struct run *run = &timeline->runs[i];

		if (run->start_ns > now_ns)
			close_slices(chrome, 0, now_ns);
		change_path(chrome, run->path, run->start_ns);
		now_ns = run->start_ns + run->duration_ns;
		extract_passed(chrome->extract, lane, i + 1, timeline->nr_runs);
	}
	close_slices(chrome, 0, now_ns);
}

/* Lanes of several threads have no ids of their own: they count from 1. */
static void lane_ids(const struct extract *extract, size_t index, uint64_t *pid, uint64_t *tid)
{
	const struct lane *lane = &extract->lanes[index];
	bool merged = lane->process == PROCESS_NONE;

	*pid = merged ? index + 1 : (uint64_t)lane->pid;
	*tid = merged ? index + 1 : (uint64_t)lane->tid;
}

static void write_name(struct chrome *chrome, size_t index, const char *event, struct str_id name)
{
	struct buf *line = &chrome->line;
	uint64_t pid, tid;

	lane_ids(chrome->extract, index, &pid, &tid);
	buf_clear(line);
	buf_printf(line,
		   "%s\n{\"ph\":\"M\",\"pid\":%lu,\"tid\":%lu,\"name\":\"%s\",\"args\":"
		   "{\"name\":\"",
		   index == 0 && event[0] == 'p' ? "" : ",", (unsigned long)pid, (unsigned long)tid,
		   event);
	escape_json(line, profile_str(chrome->extract->profile, name));
	buf_append_str(line, "\"}}");
	sink_write(chrome->sink, line->bytes, line->nr_bytes);
}

static void write_names(struct chrome *chrome)
{
	const struct extract *extract = chrome->extract;

	for (size_t i = 0; i < extract->nr_lanes; i++) {
		const struct lane *lane = &extract->lanes[i];
		bool merged = lane->process == PROCESS_NONE;

		write_name(chrome, i, "process_name", lane->process_name);
		write_name(chrome, i, "thread_name",
			   merged ? lane->process_name : lane->thread_name);
	}
}

/* Lines through all tracks; their ids must be those of a thread, else readers make up a process. */
static void write_marks(struct chrome *chrome)
{
	const struct extract *extract = chrome->extract;
	struct buf *line = &chrome->line;
	uint64_t pid, tid;

	lane_ids(extract, 0, &pid, &tid);
	for (size_t i = 0; i < extract->nr_marks; i++) {
		const struct profile_mark *mark = &extract->marks[i];

		buf_clear(line);
		buf_append_str(line, ",\n{\"ph\":\"i\",\"s\":\"g\",\"ts\":");
		append_us(line, mark->time_ns);
		buf_printf(line, ",\"pid\":%lu,\"tid\":%lu,\"cat\":\"mark\",\"name\":\"",
			   (unsigned long)pid, (unsigned long)tid);
		escape_json(line, profile_str(extract->profile, mark->text));
		buf_append_str(line, "\"}");
		sink_write(chrome->sink, line->bytes, line->nr_bytes);
	}
}

static void write_lanes(struct chrome *chrome)
{
	struct timeline timeline = {0};

	for (size_t i = 0; i < chrome->extract->nr_lanes; i++) {
		uint64_t pid, tid;

		lane_ids(chrome->extract, i, &pid, &tid);
		buf_clear(&chrome->lane_ids);
		buf_printf(&chrome->lane_ids, ",\"pid\":%lu,\"tid\":%lu,\"name\":\"",
			   (unsigned long)pid, (unsigned long)tid);
		timeline_of_lane(&timeline, chrome->extract, &chrome->extract->lanes[i]);
		write_lane(chrome, &chrome->extract->lanes[i], &timeline);
	}
	timeline_release(&timeline);
}

void write_chrome(const struct extract *extract, struct sink *sink)
{
	struct chrome chrome = {.extract = extract, .sink = sink};
	struct buf head = {0};

	make_names(&chrome);
	buf_append_str(
		&head,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"version\":\"profc " PROFC_VERSION
		"\",\"command\":\"");
	extract_append_title_json(&head, extract);
	buf_append_str(&head, "\"},\"traceEvents\":[");
	sink_write(sink, head.bytes, head.nr_bytes);
	write_names(&chrome);
	write_marks(&chrome);
	write_lanes(&chrome);
	sink_str(sink, "\n]}\n");
	buf_release(&head);
	buf_release(&chrome.names);
	buf_release(&chrome.lane_ids);
	buf_release(&chrome.line);
	free(chrome.starts);
	free(chrome.open);
	path_nodes_release(&chrome.path);
}
