// SPDX-License-Identifier: GPL-2.0-or-later
/* The data of the page: JSON for the few items with names, columns for the many numbers. */
#include "export/page_data_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "calltree/counts.h"
#include "calltree/observe.h"
#include "export/extract_priv.h"
#include "export/flame_tree_priv.h"
#include "export/page_chain_priv.h"
#include "export/page_spans_priv.h"
#include "mapping/module.h"
#include "verdict/verdict.h"
#include "view/rate_text.h"

static void sort_stacks(struct page_data *data)
{
	cleanup_free uint64_t *weights =
		xcalloc(stack_trie_nr(data->extract->paths), sizeof(*weights));

	if (metric_is_memory(data->extract->options->metric))
		page_blocks_weigh(data, weights);
	else if (metric_is_counter(data->extract->options->metric) ||
		 data->extract->options->metric == METRIC_ELAPSED)
		page_advances_weigh(data, weights);
	else
		page_samples_weigh(data, weights);
	page_stacks_sort(data, weights);
}

void page_data_init(struct page_data *data, const struct extract *extract)
{
	const struct profile *profile = extract->profile;

	*data = (struct page_data){.extract = extract, .grain_ns = 1};
	data->paths = path_maker_new(extract->expansion, PATH_FRAMES, extract->paths);
	if (profile->nr_samples > PAGE_SAMPLES_EXACT)
		data->grain_ns = PAGE_GRAIN_NS;
	numbering_init(&data->functions, extract->expansion->nr_labels);
	numbering_init(&data->modules, module_table_nr(profile->modules));
	numbering_init(&data->files, strtab_nr(profile->strings));
	numbering_init(&data->threads, profile->nr_threads);
	numbering_init(&data->processes, profile->nr_processes);
	page_samples_meet(data);
	page_blocks_meet(data);
	page_advances_meet(data);
	rows_init(&data->rows, extract->paths, extract->expansion);
	sort_stacks(data);
}

void page_data_release(struct page_data *data)
{
	rows_release(&data->rows);
	free(data->node_of_row);
	free(data->uses);
	free(data->samples);
	page_waits_free(data->waits);
	path_maker_free(data->paths);
	numbering_release(&data->functions);
	numbering_release(&data->modules);
	numbering_release(&data->files);
	numbering_release(&data->threads);
	numbering_release(&data->processes);
	numbering_release(&data->leaves);
	page_columns_release(&data->columns);
}

/* --- columns --- */

static void write_frames(struct page_data *data)
{
	const struct expansion *expansion = data->extract->expansion;
	const struct rows *rows = &data->rows;

	page_columns_begin(&data->columns, "frameFunction");
	for (size_t i = 0; i < rows->nr_frames; i++)
		page_columns_add(&data->columns,
				 numbering_of(&data->functions, rows->frames[i].level->label));
	page_columns_begin(&data->columns, "frameFile"); /* and 1; 0: not known */
	for (size_t i = 0; i < rows->nr_frames; i++) {
		struct str_id file = expansion->places[rows->frames[i].level->place].file;

		page_columns_add(&data->columns, file.v == STR_EMPTY.v
							 ? 0
							 : numbering_of(&data->files, file.v) + 1);
	}
	page_columns_begin(&data->columns, "frameLine");
	for (size_t i = 0; i < rows->nr_frames; i++)
		page_columns_add(&data->columns,
				 expansion->places[rows->frames[i].level->place].line);
	page_columns_begin(&data->columns, "frameInlined");
	for (size_t i = 0; i < rows->nr_frames; i++)
		page_columns_add(&data->columns, rows->frames[i].level->inlined);
}

/* --- tables --- */

static int64_t module_number(struct page_data *data, uint32_t label)
{
	const struct expansion *expansion = data->extract->expansion;

	if (!label_module(expansion, label))
		return -1;
	return numbering_of(&data->modules, expansion->labels[label].module.v);
}

static int64_t file_number(struct page_data *data, uint32_t label)
{
	const struct function *function = label_function(data->extract->expansion, label);

	if (!function || function->file.v == STR_EMPTY.v)
		return -1;
	return numbering_of(&data->files, function->file.v);
}

/* [name, file or -1, line, module or -1, is a function, full name if it is another] */
static void write_function(struct page_data *data, struct json *json, uint32_t label)
{
	const struct extract *extract = data->extract;
	struct buf full = {0};

	json_array_begin(json);
	json_str(json, extract_name(extract, label));
	json_i64(json, file_number(data, label));
	json_u64(json, extract_function_line(extract, label));
	json_i64(json, module_number(data, label));
	json_u64(json, label_is_code(extract->expansion, label));
	flame_append_full_name(&full, extract, label);
	if (strcmp(buf_str(&full), extract_name(extract, label)) != 0)
		json_str(json, buf_str(&full));
	json_array_end(json);
	buf_release(&full);
}

/* By metric. spread: 0 where it is not known. */
static void write_noises(const struct page_match *match, struct json *json)
{
	json_key_object_begin(json, "noise");
	for (size_t i = 0; i < match->nr_noises; i++) {
		const struct page_noise *of = &match->noises[i];

		json_key_object_begin(json, metric_name(of->metric));
		json_key_bool(json, "isKnown", of->noise.is_known);
		json_key(json, "factor");
		json_double(json, of->noise.factor, 6);
		json_key(json, "spread");
		json_double(json, of->noise.spread, 6);
		json_key(json, "quantile");
		json_double(json, of->quantile, 6);
		json_object_end(json);
	}
	json_object_end(json);
}

static void write_match(struct page_data *data, struct json *json)
{
	if (!data->match)
		return;
	json_key_str(json, "diffMode", data->match->mode);
	write_noises(data->match, json);
	json_key_array_begin(json, "sameAs");
	for (uint32_t i = 0; i < data->functions.nr; i++)
		json_i64(json, data->match->functions[data->functions.ids[i]]);
	json_array_end(json);
}

static void write_names(struct page_data *data, struct json *json)
{
	const struct profile *profile = data->extract->profile;

	json_key_array_begin(json, "functions");
	for (uint32_t i = 0; i < data->functions.nr; i++)
		write_function(data, json, data->functions.ids[i]);
	json_array_end(json);
	json_key_array_begin(json, "modules");
	for (uint32_t i = 0; i < data->modules.nr; i++) {
		struct module_id id = {data->modules.ids[i]};
		const struct module *module = module_table_get(profile->modules, id);

		json_array_begin(json);
		json_str(json, module_short_name(module));
		json_str(json, module->path);
		if (module->kind == MODULE_KIND_SCRIPT)
			json_bool(json, true);
		json_array_end(json);
	}
	json_array_end(json);
	json_key_array_begin(json, "files");
	for (uint32_t i = 0; i < data->files.nr; i++)
		json_str(json, profile_str(profile, (struct str_id){data->files.ids[i]}));
	json_array_end(json);
}

/*
 * [process, name, tid], and [name, pid, when it ended in ns or 0, how many processes without a
 * sample it stands for].
 */
static void write_threads(struct page_data *data, struct json *json)
{
	const struct profile *profile = data->extract->profile;

	json_key_array_begin(json, "threads");
	for (uint32_t i = 0; i < data->threads.nr; i++) {
		const struct profile_thread *thread = &profile->threads[data->threads.ids[i]];

		json_array_begin(json);
		json_u64(json, numbering_of(&data->processes, thread->process));
		json_str(json, profile_str(profile, thread->name));
		json_i64(json, thread->tid);
		json_array_end(json);
	}
	json_array_end(json);
	json_key_array_begin(json, "processes");
	for (uint32_t i = 0; i < data->processes.nr; i++) {
		const struct profile_process *process = &profile->processes[data->processes.ids[i]];

		json_array_begin(json);
		json_str(json, profile_str(profile, process->name));
		json_i64(json, process->pid);
		json_u64(json, process->end_ns);
		json_u64(json, process->nr_unseen);
		json_array_end(json);
	}
	json_array_end(json);
}

static void write_meta(struct page_data *data, struct json *json)
{
	const struct profile *profile = data->extract->profile;
	const struct profile_meta *meta = &profile->meta;
	struct buf title = {0};
	double hz;

	extract_append_title(&title, data->extract);
	json_key_str(json, "title", buf_str(&title));
	buf_release(&title);
	json_key_known_str(json, "host", profile_str(profile, meta->hostname));
	json_key_known_str(json, "kernel", profile_str(profile, meta->kernel));
	json_key_known_str(json, "cpu", profile_str(profile, meta->cpu_model));
	json_key_known_str(json, "within", profile_str(profile, meta->within));
	json_key_u64(json, "cpus", meta->nr_cpus);
	json_key_u64(json, "frequency", meta->frequency_hz);
	json_key(json, "achieved");
	if (rate_is_low(profile, &hz))
		json_double(json, hz, 1);
	else
		json_null(json);
	json_key_u64(json, "startMs", meta->start_realtime_ns / 1000000);
	json_key_u64(json, "durationNs", meta->duration_ns);
	json_key_bool(json, "attached", meta->attached);
	json_key_bool(json, "complete", meta->complete);
}

/* The table of the page whose rows a metric adds up. */
static const char *rows_of(enum metric metric)
{
	if (metric_is_counter(metric) || metric == METRIC_ELAPSED)
		return "advances";
	return metric_is_memory(metric) ? "blocks" : "samples";
}

/* [name, unit, which rows it adds up] by number of the metric, and last of exact counts. */
static void write_metrics(struct json *json)
{
	json_key_array_begin(json, "metrics");
	for (int i = 0; i <= METRIC_COUNT; i++) {
		enum metric metric = (enum metric)i;
		bool is_calls = i == METRIC_COUNT;

		json_array_begin(json);
		json_str(json, is_calls ? "calls" : metric_name(metric));
		json_str(json, is_calls ? "calls" : metric_unit(metric));
		json_str(json, is_calls ? "calls" : rows_of(metric));
		json_array_end(json);
	}
	json_array_end(json);
}

static void write_verdict(const struct extract *extract, struct json *json)
{
	struct buf line = {0};

	if (extract->verdict)
		verdict_append_line(&line, extract->verdict);
	json_key_known_str(json, "verdict", buf_str(&line));
	buf_release(&line);
}

static void write_choices(struct page_data *data, struct json *json)
{
	const struct extract *extract = data->extract;
	const struct export_options *options = extract->options;
	uint64_t nr_observations = 0;

	json_key_str(json, "metric", metric_name(options->metric));
	json_key_bool(json, "countSamples", options->weights == EXPORT_WEIGHTS_SAMPLES);
	json_key_str(json, "group",
		     options->threads == EXPORT_THREADS_MERGE ? "process" : "thread");
	json_key_bool(json, "filtered", !extract->selection->everything);
	json_key_u64(json, "fromNs", extract->selection->from_ns);
	json_key_u64(json, "toNs",
		     min_u64(extract->selection->to_ns, extract->profile->meta.duration_ns));
	json_key_u64(json, "grainNs", data->grain_ns);
	for (size_t i = 0; i < data->nr_samples; i++)
		nr_observations += page_sample(data, i)->nr;
	json_key_u64(json, "nrObservations", nr_observations);
	json_key_u64(json, "advanceGrainNs", SAMPLE_TIME_GRAIN_NS);
	page_blocks_write_members(data, json);
}

static void write_marks(const struct page_data *data, struct json *json)
{
	const struct extract *extract = data->extract;

	json_key_u64(json, "nrRuns", extract->profile->runs.nr);
	json_key_array_begin(json, "marks");
	for (size_t i = 0; i < extract->nr_marks; i++) {
		json_array_begin(json);
		json_u64(json, extract->marks[i].time_ns);
		json_str(json, profile_str(extract->profile, extract->marks[i].text));
		json_array_end(json);
	}
	json_array_end(json);
}

/* Called functions need not have been sampled. */
static void number_counted_functions(struct page_data *data)
{
	for (uint32_t label = 0; label < data->extract->expansion->nr_labels; label++) {
		uint64_t calls = 0;

		if (counts_find_function(data->extract->counts, label, &calls) && calls)
			(void)numbering_of(&data->functions, label);
	}
}

size_t page_data_write(struct page_data *data, struct sink *sink)
{
	struct page_chain *chain = data->match ? NULL : page_chain_new(data->extract->selection);
	struct page_spans *spans = page_spans_new(data->extract->profile);
	struct json json;
	size_t nr_stack_columns, nr_bytes;

	write_frames(data);
	page_addresses_write(data);
	page_stacks_write(data);
	page_threads_write(data);
	nr_stack_columns = data->columns.nr;
	page_samples_write(data);
	page_waits_write(data);
	page_blocks_write(data);
	page_advances_write(data);
	page_chain_write(chain, &data->columns, &data->threads, &data->functions);
	page_spans_write(spans, &data->threads, &data->columns);
	page_columns_finish(&data->columns);
	number_counted_functions(data);
	json_init(&json, sink);
	json_object_begin(&json);
	write_meta(data, &json);
	write_verdict(data->extract, &json);
	write_metrics(&json);
	write_choices(data, &json);
	write_marks(data, &json);
	page_calls_write(data, &json);
	page_sources_write(data, &json);
	page_code_write(data, &json);
	page_waits_write_members(data, &json);
	page_chain_write_members(chain, &json);
	page_chain_free(chain);
	page_spans_write_members(spans, &data->threads, &json);
	write_threads(data, &json);
	write_names(data, &json);
	write_match(data, &json);
	page_columns_write_names(&data->columns, &json);
	json_key_u64(&json, "nrStackColumns", nr_stack_columns);
	json_object_end(&json);
	json_finish(&json);
	nr_bytes = sink->pending.nr_bytes + page_columns_bytes(&data->columns, nr_stack_columns);
	sink_write(sink, data->columns.bytes.bytes, data->columns.bytes.nr_bytes);
	page_spans_free(spans);
	return nr_bytes;
}
