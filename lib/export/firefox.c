// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The Firefox Profiler's processed profile format, version 60: tables of columns shared
 * by all threads, samples as (stack, time, weight) per thread. Newer readers upgrade
 * older versions, so the version stays where it has been tested.
 */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "calltree/filter.h"
#include "export/extract_priv.h"
#include "export/firefox_priv.h"
#include "mapping/module.h"

#define FORMAT_VERSION 60
#define GECKO_VERSION  27 /* meta.version: required, but without a meaning here */
#define PHASE_INSTANT  0  /* of markers */

static void write_category(struct json *json, const char *name, const char *color)
{
	json_object_begin(json);
	json_key_str(json, "name", name);
	json_key_str(json, "color", color);
	json_key_array_begin(json, "subcategories");
	json_str(json, "Other");
	json_array_end(json);
	json_object_end(json);
}

/*
 * The range shown: the whole recording, or the part that the time filter selects. Without it the
 * viewer begins at the first sample, and hides earlier marks.
 */
static void write_range(struct firefox *out)
{
	const struct extract *extract = out->extract;
	uint64_t end_ns = min_u64(extract->selection->to_ns, extract->profile->meta.duration_ns);

	for (size_t i = 0; i < extract->nr_points; i++)
		end_ns = max_u64(end_ns, extract->points[i].end_ns);
	json_key(&out->json, "profilingStartTime");
	json_double(&out->json, (double)extract->selection->from_ns / 1e6, 6);
	json_key(&out->json, "profilingEndTime");
	json_double(&out->json, (double)end_ns / 1e6, 6);
}

/* The display of marks: their text in the chart and the table, lines in the overview. */
static void write_mark_schema(struct json *json)
{
	static const char text[] = "{marker.data.text}";

	json_object_begin(json);
	json_key_str(json, "name", FIREFOX_MARK);
	json_key_str(json, "tooltipLabel", text);
	json_key_str(json, "chartLabel", text);
	json_key_str(json, "tableLabel", text);
	json_key_array_begin(json, "display");
	json_str(json, "marker-chart");
	json_str(json, "marker-table");
	json_str(json, "timeline-overview");
	json_array_end(json);
	json_key_array_begin(json, "fields");
	json_object_begin(json);
	json_key_str(json, "key", "text");
	json_key_str(json, "label", "Text");
	json_key_str(json, "format", "string");
	json_object_end(json);
	json_array_end(json);
	json_object_end(json);
}

static void write_marker_schema(struct firefox *out)
{
	json_key_array_begin(&out->json, "markerSchema");
	if (out->extract->nr_marks)
		write_mark_schema(&out->json);
	json_array_end(&out->json);
}

static void write_meta(struct firefox *out)
{
	const struct profile_meta *meta = &out->extract->profile->meta;
	struct json *json = &out->json;
	struct buf title = {0};

	extract_append_title(&title, out->extract);
	json_key_object_begin(json, "meta");
	json_key(json, "interval");
	json_double(json, meta->frequency_hz ? 1000.0 / meta->frequency_hz : 1, 6);
	json_key(json, "startTime");
	json_double(json, (double)meta->start_realtime_ns / 1e6, 3);
	json_key_str(json, "product", buf_str(&title));
	json_key_str(json, "importedFrom", "profc " PROFC_VERSION);
	json_key_u64(json, "version", GECKO_VERSION);
	json_key_u64(json, "preprocessedProfileVersion", FORMAT_VERSION);
	write_range(out);
	json_key_u64(json, "processType", 0);
	json_key_u64(json, "stackwalk", 1);
	json_key_u64(json, "debug", 0);
	json_key_bool(json, "symbolicated", true);
	json_key_bool(json, "sourceCodeIsNotOnSearchfox", true);
	json_key_bool(json, "usesOnlyOneStackType", true);
	json_key_array_begin(json, "categories");
	write_category(json, "Other", "grey");
	write_category(json, "Native", "yellow");
	write_category(json, "Script", "blue");
	json_array_end(json);
	write_marker_schema(out);
	json_key_object_begin(json, "sampleUnits");
	json_key_str(json, "time", "ms");
	json_key_str(json, "eventDelay", "ms");
	json_key_str(json, "threadCPUDelta", "ns");
	json_object_end(json);
	json_object_end(json);
	buf_release(&title);
}

static void write_build_id(struct json *json, const char *key, const struct module *module)
{
	struct buf hex = {0};

	for (size_t i = 0; i < module->nr_build_id_bytes; i++)
		buf_printf(&hex, "%02x", module->build_id[i]);
	json_key_str(json, key, buf_str(&hex));
	buf_release(&hex);
}

static void write_libraries(struct firefox *out)
{
	struct json *json = &out->json;

	json_key_array_begin(json, "libs");
	for (uint32_t i = 0; i < out->libraries.nr; i++) {
		const struct module *module = firefox_library(out, i);

		json_object_begin(json);
		json_key_str(json, "name", module_short_name(module));
		json_key_str(json, "path", module->path);
		json_key_str(json, "debugName", module_short_name(module));
		json_key_str(json, "debugPath", module->path);
		json_key_str(json, "arch", "");
		json_key_str(json, "breakpadId", "");
		write_build_id(json, "codeId", module);
		json_object_end(json);
	}
	json_array_end(json);
}

/* --- threads --- */

static void append_ms(struct buf *out, uint64_t ns)
{
	uint64_t rest = ns % 1000000;

	buf_append_decimal(out, ns / 1000000);
	buf_append_byte(out, '.');
	for (uint64_t digit = 100000; digit; digit /= 10)
		buf_append_byte(out, (uint8_t)('0' + rest / digit % 10));
}

enum sample_column {
	COLUMN_STACK,
	COLUMN_TIME,
	COLUMN_WEIGHT,
	COLUMN_CPU,
};

static void append_cell(struct buf *text, const struct firefox *out, const struct point *point,
			enum sample_column column)
{
	switch (column) {
	case COLUMN_STACK:
		buf_append_decimal(text, out->rows.stack_of_path[point->path.v]);
		break;
	case COLUMN_TIME:
		append_ms(text, point->end_ns);
		break;
	case COLUMN_WEIGHT:
		if (extract_is_time(out->extract))
			append_ms(text, point->weight);
		else
			buf_append_decimal(text, point->weight);
		break;
	case COLUMN_CPU:
		buf_append_decimal(text, point->cpu_ns);
		break;
	}
}

/*
 * Viewers take what a sample says of the CPU for the time since the one before, and leave out the
 * first: a sample of no time begins a thread.
 */
static void append_first_cell(struct buf *text, const struct firefox *out, const struct lane *lane,
			      enum sample_column column)
{
	const struct point *first = &out->extract->points[lane->first];
	const struct point begin = {.path = first->path,
				    .end_ns =
					    first->end_ns - min_u64(first->wall_ns, first->end_ns)};

	append_cell(text, out, &begin, column);
}

/* Written without the JSON writer, as there are millions of rows. */
static void write_column(struct firefox *out, const struct lane *lane, const char *key,
			 enum sample_column column)
{
	struct buf text = {0};

	json_key_array_begin(&out->json, key);
	if (lane->nr)
		append_first_cell(&text, out, lane, column);
	for (size_t i = lane->first; i < lane->first + lane->nr; i++) {
		buf_append_byte(&text, ',');
		append_cell(&text, out, &out->extract->points[i], column);
	}
	sink_write(out->json.sink, text.bytes, text.nr_bytes);
	json_array_end(&out->json);
	buf_release(&text);
}

static void write_samples(struct firefox *out, const struct lane *lane)
{
	struct json *json = &out->json;

	json_key_object_begin(json, "samples");
	json_key_str(json, "weightType",
		     extract_is_time(out->extract)    ? "tracing-ms"
		     : extract_is_bytes(out->extract) ? "bytes"
						      : "samples");
	write_column(out, lane, "stack", COLUMN_STACK);
	write_column(out, lane, "time", COLUMN_TIME);
	write_column(out, lane, "weight", COLUMN_WEIGHT);
	write_column(out, lane, "threadCPUDelta", COLUMN_CPU);
	json_key_u64(json, "length", lane->nr ? lane->nr + 1 : 0);
	json_object_end(json);
}

static void write_mark_data(struct json *json, const char *text)
{
	json_object_begin(json);
	json_key_str(json, "type", FIREFOX_MARK);
	json_key_str(json, "text", text);
	json_object_end(json);
}

static void write_mark_times(struct firefox *out, size_t nr)
{
	const struct extract *extract = out->extract;
	struct buf text = {0};

	json_key_array_begin(&out->json, "startTime");
	for (size_t i = 0; i < nr; i++) {
		if (i)
			buf_append_byte(&text, ',');
		append_ms(&text, extract->marks[i].time_ns);
	}
	sink_write(out->json.sink, text.bytes, text.nr_bytes);
	json_array_end(&out->json);
	buf_release(&text);
}

/* The first `nr` marks. */
static void write_markers(struct firefox *out, size_t nr)
{
	const struct extract *extract = out->extract;
	struct json *json = &out->json;

	json_key_object_begin(json, "markers");
	json_key_array_begin(json, "data");
	for (size_t i = 0; i < nr; i++)
		write_mark_data(json, profile_str(extract->profile, extract->marks[i].text));
	json_array_end(json);
	firefox_constant_column(json, "name", nr, out->mark_name);
	write_mark_times(out, nr);
	firefox_constant_column(json, "endTime", nr, FIREFOX_NULL);
	firefox_constant_column(json, "phase", nr, PHASE_INSTANT);
	firefox_constant_column(json, "category", nr, FIREFOX_CATEGORY_OTHER);
	json_key_u64(json, "length", nr);
	json_object_end(json);
}

/* Lanes of several threads have no ids of their own: they count from 1. */
static void write_ids(struct firefox *out, const struct lane *lane)
{
	const struct profile *profile = out->extract->profile;
	bool merged = lane->process == PROCESS_NONE;
	uint64_t number_of_lane = (uint64_t)(lane - out->extract->lanes) + 1;
	struct buf pid = {0};

	buf_append_decimal(&pid, merged ? number_of_lane : (uint64_t)lane->pid);
	json_key_str(&out->json, "processType", "default");
	json_key_str(&out->json, "processName", profile_str(profile, lane->process_name));
	json_key_str(&out->json, "name",
		     profile_str(profile, merged ? lane->process_name : lane->thread_name));
	json_key_bool(&out->json, "isMainThread", lane->pid == lane->tid);
	json_key_str(&out->json, "pid", buf_str(&pid));
	json_key_u64(&out->json, "tid", merged ? number_of_lane : (uint64_t)lane->tid);
	buf_release(&pid);
}

static void write_thread(struct firefox *out, const struct lane *lane, size_t nr_marks)
{
	struct json *json = &out->json;

	json_object_begin(json);
	write_ids(out, lane);
	json_key_u64(json, "processStartupTime", 0);
	json_key(json, "processShutdownTime");
	json_null(json);
	json_key_u64(json, "registerTime", 0);
	json_key(json, "unregisterTime");
	json_null(json);
	json_key_array_begin(json, "pausedRanges");
	json_array_end(json);
	json_key_bool(json, "showMarkersInTimeline", nr_marks > 0);
	write_samples(out, lane);
	write_markers(out, nr_marks);
	json_object_end(json);
}

static void write_document(struct firefox *out, struct sink *sink)
{
	const struct extract *extract = out->extract;
	/*
	 * Marks belong to no thread: put them where the viewer shows them, as it hides idle
	 * threads.
	 */
	size_t marked = extract_heaviest_lane(extract);
	struct json *json = &out->json;

	json_init(json, sink);
	json_object_begin(json);
	write_meta(out);
	write_libraries(out);
	firefox_write_shared(out);
	json_key_array_begin(json, "threads");
	for (size_t i = 0; i < extract->nr_lanes; i++) {
		write_thread(out, &extract->lanes[i], i == marked ? extract->nr_marks : 0);
		extract_passed(extract, &extract->lanes[i], 1, 1);
	}
	json_array_end(json);
	json_object_end(json);
	json_finish(json);
}

void write_firefox(const struct extract *extract, struct sink *sink)
{
	struct firefox out;

	firefox_init(&out, extract);
	write_document(&out, sink);
	firefox_release(&out);
}
