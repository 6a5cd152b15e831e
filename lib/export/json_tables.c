// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The contents of all other formats, as plain JSON tables for programs: functions, frames (levels
 * of inline chains), stacks (prefixes first) and, thread by thread, samples of [end in ns, stack,
 * weight, observations] and, if there are any, the number of its last label. profc-export(1)
 * describes it; members may be added, none is removed.
 */
#include "base/buf.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/sink.h"
#include "calltree/counts.h"
#include "export/extract_priv.h"
#include "export/numbering_priv.h"
#include "export/rows_priv.h"
#include "mapping/module.h"

#define FORMAT_VERSION 1

struct tables {
	const struct extract *extract;
	struct json json;
	struct rows rows;
	struct numbering functions; /* of labels */
};

/* null, not 0, where they were not counted. */
static void write_calls_of(struct tables *out, uint32_t label)
{
	uint64_t calls;

	json_key(&out->json, "calls");
	if (counts_find_function(out->extract->counts, label, &calls))
		json_u64(&out->json, calls);
	else
		json_null(&out->json);
}

static void write_function(struct tables *out, uint32_t label)
{
	const struct extract *extract = out->extract;
	const struct function *function = label_function(extract->expansion, label);
	const struct module *module = label_module(extract->expansion, label);
	bool is_linked = function && function->linkage_name.v != STR_EMPTY.v;

	json_object_begin(&out->json);
	json_key_str(&out->json, "name", extract_name(extract, label));
	json_key_str(&out->json, "linkage_name",
		     is_linked ? profile_str(extract->profile, function->linkage_name) : NULL);
	json_key_str(&out->json, "file", extract_function_file(extract, label));
	json_key_known_u64(&out->json, "line", extract_function_line(extract, label));
	json_key_str(&out->json, "module", module ? module->path : NULL);
	if (extract->counts->state == COUNTS_KNOWN)
		write_calls_of(out, label);
	json_object_end(&out->json);
}

/* The address in the module's file; null for nodes without code. */
static void write_address(struct tables *out, uint32_t node)
{
	const struct code_address *where = path_frame_address(out->extract->expansion, node);
	struct buf text = {0};

	if (where)
		buf_printf(&text, "0x%llx", (unsigned long long)where->address);
	json_key_str(&out->json, "address", where ? buf_str(&text) : NULL);
	buf_release(&text);
}

static void write_frame(struct tables *out, const struct frame_row *row)
{
	const struct expansion *expansion = out->extract->expansion;
	const struct place *place = &expansion->places[row->level->place];
	const char *file = profile_str(out->extract->profile, place->file);

	json_object_begin(&out->json);
	json_key_u64(&out->json, "function", numbering_of(&out->functions, row->level->label));
	json_key_known_str(&out->json, "file", file);
	json_key_known_u64(&out->json, "line", place->line);
	json_key_bool(&out->json, "inlined", row->level->inlined);
	write_address(out, row->node);
	json_object_end(&out->json);
}

static void write_samples(struct tables *out, const struct lane *lane)
{
	bool has_labels = profile_labels(out->extract->profile)->nr;
	struct sink *sink = out->json.sink;
	struct buf text = {0};

	for (size_t i = lane->first; i < lane->first + lane->nr; i++) {
		const struct point *point = &out->extract->points[i];

		buf_clear(&text);
		buf_append_str(&text, i > lane->first ? ",\n[" : "[");
		buf_append_decimal(&text, point->end_ns);
		buf_append_byte(&text, ',');
		buf_append_decimal(&text, out->rows.stack_of_path[point->path.v]);
		buf_append_byte(&text, ',');
		buf_append_decimal(&text, point->weight);
		buf_append_byte(&text, ',');
		buf_append_decimal(&text, point->nr);
		if (has_labels) {
			buf_append_byte(&text, ',');
			buf_append_decimal(&text, point->labels);
		}
		buf_append_byte(&text, ']');
		sink_write(sink, text.bytes, text.nr_bytes);
		progress_set(out->extract->options->progress, i + 1, out->extract->nr_points);
	}
	buf_release(&text);
}

static void write_thread(struct tables *out, const struct lane *lane)
{
	const struct profile *profile = out->extract->profile;
	bool merged = lane->process == PROCESS_NONE;

	json_object_begin(&out->json);
	json_key_str(&out->json, "process", profile_str(profile, lane->process_name));
	json_key_str(&out->json, "name", merged ? NULL : profile_str(profile, lane->thread_name));
	json_key_known_u64(&out->json, "pid", (uint64_t)lane->pid);
	json_key_known_u64(&out->json, "tid", (uint64_t)lane->tid);
	json_key_u64(&out->json, "weight", lane->weight);
	json_key_array_begin(&out->json, "samples");
	write_samples(out, lane);
	json_array_end(&out->json);
	json_object_end(&out->json);
}

static void write_head(struct tables *out)
{
	const struct profile_meta *meta = &out->extract->profile->meta;
	struct json *json = &out->json;

	json_key_u64(json, "version", FORMAT_VERSION);
	json_key_str(json, "creator", "profc " PROFC_VERSION);
	json_key_array_begin(json, "command");
	for (size_t i = 0; i < meta->nr_command; i++)
		json_str(json, profile_str(out->extract->profile, meta->command[i]));
	json_array_end(json);
	json_key_u64(json, "start_realtime_ns", meta->start_realtime_ns);
	json_key_u64(json, "duration_ns", meta->duration_ns);
	json_key_str(json, "metric", metric_name(out->extract->options->metric));
	json_key_str(json, "unit", extract_unit(out->extract));
	json_key_u64(json, "weight", out->extract->weight);
}

static void write_marks(struct tables *out)
{
	const struct extract *extract = out->extract;

	json_key_array_begin(&out->json, "marks");
	for (size_t i = 0; i < extract->nr_marks; i++) {
		const struct profile_mark *mark = &extract->marks[i];

		json_object_begin(&out->json);
		json_key_u64(&out->json, "time_ns", mark->time_ns);
		json_key_str(&out->json, "text", profile_str(extract->profile, mark->text));
		json_object_end(&out->json);
	}
	json_array_end(&out->json);
}

/* Functions need not have been sampled to be counted. */
static void number_counted_functions(struct tables *out)
{
	const struct extract *extract = out->extract;
	const struct profile_probes *probes = &extract->profile->probes;

	for (size_t i = 0; i < probes->nr_counts; i++) {
		const struct profile_count *row = &probes->counts[i];

		if (!counts_have(extract->counts, row))
			continue;
		if (row->kind == COUNT_ENTRY)
			numbering_of(&out->functions,
				     expansion_outermost(extract->expansion, row->where)->label);
		else
			numbering_of(&out->functions,
				     expansion_innermost(extract->expansion, row->where)->label);
		if (row->callee.v != COUNT_NO_CALLEE.v)
			numbering_of(&out->functions,
				     expansion_outermost(extract->expansion, row->callee)->label);
	}
}

static void write_callee(struct tables *out, struct frame_id callee)
{
	const struct expansion *expansion = out->extract->expansion;

	json_key(&out->json, "callee");
	if (callee.v == COUNT_NO_CALLEE.v)
		json_null(&out->json);
	else
		json_u64(&out->json, numbering_of(&out->functions,
						  expansion_outermost(expansion, callee)->label));
}

static void write_call(struct tables *out, const struct profile_count *row)
{
	const struct profile *profile = out->extract->profile;
	const struct level *level = expansion_innermost(out->extract->expansion, row->where);
	const struct place *place = &out->extract->expansion->places[level->place];

	json_object_begin(&out->json);
	json_key_u64(&out->json, "pid", (uint64_t)profile->processes[row->process].pid);
	json_key_u64(&out->json, "caller", numbering_of(&out->functions, level->label));
	json_key_known_str(&out->json, "file", profile_str(profile, place->file));
	json_key_known_u64(&out->json, "line", place->line);
	write_callee(out, row->callee);
	json_key_u64(&out->json, "calls", row->calls);
	json_object_end(&out->json);
}

static void write_calls(struct tables *out)
{
	const struct profile_probes *probes = &out->extract->profile->probes;

	json_key_array_begin(&out->json, "calls");
	for (size_t i = 0; i < probes->nr_counts; i++) {
		if (probes->counts[i].kind == COUNT_CALL &&
		    counts_have(out->extract->counts, &probes->counts[i]))
			write_call(out, &probes->counts[i]);
	}
	json_array_end(&out->json);
}

static void write_prefix(struct json *json, uint32_t prefix)
{
	json_key(json, "prefix");
	if (prefix == ROW_NONE)
		json_null(json);
	else
		json_u64(json, prefix);
}

/* Numbers of labels count from 1. */
static void write_labels(struct tables *out)
{
	const struct profile *profile = out->extract->profile;
	const struct profile_labels *labels = profile_labels(profile);

	json_key_array_begin(&out->json, "labels");
	for (size_t i = 0; i < labels->nr; i++) {
		json_object_begin(&out->json);
		json_key_u64(&out->json, "outer", labels->rows[i].outer);
		json_key_str(&out->json, "key", profile_str(profile, labels->rows[i].key));
		json_key_str(&out->json, "value", profile_str(profile, labels->rows[i].value));
		json_object_end(&out->json);
	}
	json_array_end(&out->json);
}

static void write_document(struct tables *out)
{
	struct json *json = &out->json;

	json_object_begin(json);
	write_head(out);
	write_marks(out);
	json_key_array_begin(json, "functions");
	for (uint32_t i = 0; i < out->functions.nr; i++)
		write_function(out, out->functions.ids[i]);
	json_array_end(json);
	json_key_array_begin(json, "frames");
	for (size_t i = 0; i < out->rows.nr_frames; i++)
		write_frame(out, &out->rows.frames[i]);
	json_array_end(json);
	json_key_array_begin(json, "stacks");
	for (size_t i = 0; i < out->rows.nr_stacks; i++) {
		json_object_begin(json);
		json_key_u64(json, "frame", out->rows.stacks[i].frame);
		write_prefix(json, out->rows.stacks[i].prefix);
		json_object_end(json);
	}
	json_array_end(json);
	if (out->extract->counts->state == COUNTS_KNOWN)
		write_calls(out);
	if (profile_labels(out->extract->profile)->nr)
		write_labels(out);
	json_key_array_begin(json, "threads");
	for (size_t i = 0; i < out->extract->nr_lanes; i++)
		write_thread(out, &out->extract->lanes[i]);
	json_array_end(json);
	json_object_end(json);
	json_finish(json);
}

void write_json(const struct extract *extract, struct sink *sink)
{
	struct tables out = {.extract = extract};

	rows_init(&out.rows, extract->paths, extract->expansion);
	numbering_init(&out.functions, extract->expansion->nr_labels);
	for (size_t i = 0; i < out.rows.nr_frames; i++)
		numbering_of(&out.functions, out.rows.frames[i].level->label);
	number_counted_functions(&out);
	json_init(&out.json, sink);
	write_document(&out);
	rows_release(&out.rows);
	numbering_release(&out.functions);
}
