// SPDX-License-Identifier: GPL-2.0-or-later
/* The samples of an export: lanes with points and paths. */
#include "export/extract_priv.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/progress.h"
#include "calltree/counts.h"
#include "calltree/filter.h"
#include "calltree/observe.h"
#include "mapping/module.h"
#include "verdict/verdict.h"
#include "view/known_names.h"

#define NO_LANE UINT32_MAX

/* --- lanes --- */

static uint32_t add_lane(struct extract *extract, const struct lane *lane)
{
	extract->lanes[extract->nr_lanes] = *lane;
	return (uint32_t)extract->nr_lanes++;
}

static void split_lanes(struct extract *extract, uint32_t *lane_of_thread)
{
	const struct profile *profile = extract->profile;

	for (size_t i = 0; i < profile->nr_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];
		const struct profile_process *process = &profile->processes[thread->process];

		lane_of_thread[i] = add_lane(extract, &(struct lane){.process_name = process->name,
								     .thread_name = thread->name,
								     .process = thread->process,
								     .pid = process->pid,
								     .tid = thread->tid});
	}
}

static void merge_lanes(struct extract *extract, uint32_t *lane_of_thread)
{
	const struct profile *profile = extract->profile;
	uint32_t nr_strings = strtab_nr(profile->strings);
	uint32_t *lane_of_name = xcalloc(nr_strings, sizeof(*lane_of_name));

	memset(lane_of_name, 0xff, nr_strings * sizeof(*lane_of_name));
	for (size_t i = 0; i < profile->nr_threads; i++) {
		struct str_id name = profile->processes[profile->threads[i].process].name;

		if (lane_of_name[name.v] == NO_LANE)
			lane_of_name[name.v] =
				add_lane(extract, &(struct lane){.process_name = name,
								 .process = PROCESS_NONE});
		lane_of_thread[i] = lane_of_name[name.v];
	}
	free(lane_of_name);
}

/* By thread_id, the lane of the thread's samples; the caller frees the array. */
static uint32_t *make_lanes(struct extract *extract)
{
	size_t nr_threads = extract->profile->nr_threads;
	uint32_t *lane_of_thread = xcalloc(nr_threads, sizeof(*lane_of_thread));

	extract->lanes = xcalloc(nr_threads, sizeof(*extract->lanes));
	if (extract->options->threads == EXPORT_THREADS_MERGE)
		merge_lanes(extract, lane_of_thread);
	else
		split_lanes(extract, lane_of_thread);
	return lane_of_thread;
}

static void drop_empty_lanes(struct extract *extract)
{
	size_t kept = 0;

	for (size_t i = 0; i < extract->nr_lanes; i++) {
		if (extract->lanes[i].nr)
			extract->lanes[kept++] = extract->lanes[i];
	}
	extract->nr_lanes = kept;
}

/* --- points --- */

static uint64_t weight_of(const struct export_options *options,
			  const struct observation *observation)
{
	if (options->weights == EXPORT_WEIGHTS_SAMPLES)
		return observation->weight ? observation->sample.nr : 0;
	return observation->weight;
}

static void count_points(struct extract *extract, const uint32_t *lane_of_thread)
{
	struct observation_walk walk;
	struct observation observation;
	size_t first = 0;

	observation_walk_init(&walk, extract->selection, extract->options->metric);
	while (observation_walk_next(&walk, &observation)) {
		if (weight_of(extract->options, &observation))
			extract->lanes[lane_of_thread[observation.sample.thread.v]].nr++;
	}
	observation_walk_release(&walk);
	for (size_t i = 0; i < extract->nr_lanes; i++) {
		extract->lanes[i].first = first;
		first += extract->lanes[i].nr;
	}
	extract->nr_points = first;
}

static void place_point(struct extract *extract, struct path_maker *maker, struct lane *lane,
			const struct observation *observation)
{
	const struct sample *sample = &observation->sample;
	uint64_t weight = weight_of(extract->options, observation);

	extract->points[lane->first + lane->nr++] =
		(struct point){.end_ns = sample->time_ns,
			       .wall_ns = sample_weight(sample, METRIC_WALL),
			       .cpu_ns = sample->cpu_ns,
			       .weight = weight,
			       .nr = sample->nr,
			       .labels = sample->labels,
			       .path = path_of(maker, sample)};
	lane->weight += weight;
	extract->weight += weight;
}

static void place_points(struct extract *extract, const uint32_t *lane_of_thread,
			 enum path_kind kind)
{
	struct path_maker *maker = path_maker_new(extract->expansion, kind, extract->paths);
	struct observation_walk walk;
	struct observation observation;

	extract->points = xcalloc(extract->nr_points, sizeof(*extract->points));
	for (size_t i = 0; i < extract->nr_lanes; i++)
		extract->lanes[i].nr = 0; /* counts up again to its former value */
	observation_walk_init(&walk, extract->selection, extract->options->metric);
	while (observation_walk_next(&walk, &observation)) {
		if (weight_of(extract->options, &observation))
			place_point(extract, maker,
				    &extract->lanes[lane_of_thread[observation.sample.thread.v]],
				    &observation);
	}
	observation_walk_release(&walk);
	path_maker_free(maker);
}

static int by_time(const void *left, const void *right)
{
	const struct point *a = left;
	const struct point *b = right;

	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* Samples are in time order within a thread only: merged lanes may have to be sorted. */
static void sort_lane(struct extract *extract, const struct lane *lane)
{
	struct point *points = extract->points + lane->first;

	for (size_t i = 1; i < lane->nr; i++) {
		if (points[i].end_ns < points[i - 1].end_ns) {
			qsort(points, lane->nr, sizeof(*points), by_time);
			return;
		}
	}
}

/* --- marks --- */

static int mark_by_time(const void *left, const void *right)
{
	const struct profile_mark *a = left;
	const struct profile_mark *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? 1 : -1;
	return (a->text.v > b->text.v) - (a->text.v < b->text.v);
}

/* Marks belong to no thread or function: only the time range selects them. */
static void select_marks(struct extract *extract)
{
	const struct profile *profile = extract->profile;

	extract->marks = xcalloc(profile->nr_marks, sizeof(*extract->marks));
	for (size_t i = 0; i < profile->nr_marks; i++) {
		const struct profile_mark *mark = &profile->marks[i];

		if (mark->time_ns >= extract->selection->from_ns &&
		    mark->time_ns <= extract->selection->to_ns)
			extract->marks[extract->nr_marks++] = *mark;
	}
	/* Merged recordings have their marks one recording after the other. */
	if (extract->nr_marks)
		qsort(extract->marks, extract->nr_marks, sizeof(*extract->marks), mark_by_time);
}

/* --- the whole --- */

static void make_names(struct extract *extract)
{
	const struct expansion *expansion = extract->expansion;
	enum name_style style =
		extract->options->names == EXPORT_NAMES_SHORT ? NAME_SHORT : NAME_FULL;

	extract->name_at = xcalloc(expansion->nr_labels, sizeof(*extract->name_at));
	for (uint32_t i = 0; i < expansion->nr_labels; i++) {
		extract->name_at[i] = extract->names.nr_bytes;
		label_append_name(&extract->names, expansion, i, style);
		buf_append_byte(&extract->names, '\0');
	}
}

static int say_empty(const struct extract *extract, struct err *err)
{
	enum metric metric = extract->options->metric;

	if (!selection_total_of_all(extract->selection, metric)) {
		if (metric_is_memory(metric))
			return err_set(err, ERR_EMPTY, "no memory of metric %s was recorded",
				       metric_name(metric));
		if (metric_is_counter(metric))
			return err_set(err, ERR_EMPTY, "no %s were recorded",
				       metric_info(metric)->none_words);
		err_set(err, ERR_EMPTY, "no %s time was recorded",
			metric_name(extract->options->metric));
		err_hint(err, "try --metric wall");
	} else {
		err_set(err, ERR_EMPTY, "no samples are left after the filters");
		known_names_hint(err, extract->selection);
	}
	return ERR_EMPTY;
}

/* A verdict is about all of a recording. */
static void judge(struct extract *extract, struct export_options *options)
{
	const struct selection *selection = extract->selection;
	const struct verdict_finding *first;

	if (!options->with_verdict || !selection->everything || selection->reshaped)
		return;
	extract->verdict = verdict_new(selection);
	first = verdict_first(extract->verdict);
	if (first && options->any_metric)
		options->metric = first->metric;
}

int extract_new(const struct profile *profile, struct export_options *options, enum path_kind kind,
		struct extract **result, struct err *err)
{
	struct extract *extract = xcalloc(1, sizeof(*extract));
	uint32_t *lane_of_thread;
	int status;

	*extract = (struct extract){.profile = profile, .options = options};
	extract->names_of = expansion_new(profile, options->fold_inlines);
	extract->paths = stack_trie_new();
	status = selection_new(extract->names_of, options->filter, &extract->selection, err);
	if (status)
		goto fail;
	extract->expansion = extract->selection->expansion;
	extract->profile = extract->expansion->profile;
	extract->counts = counts_new(extract->selection);
	judge(extract, options);
	lane_of_thread = make_lanes(extract);
	count_points(extract, lane_of_thread);
	place_points(extract, lane_of_thread, kind);
	free(lane_of_thread);
	drop_empty_lanes(extract);
	for (size_t i = 0; i < extract->nr_lanes; i++)
		sort_lane(extract, &extract->lanes[i]);
	make_names(extract);
	select_marks(extract);
	if (!extract->nr_points) {
		status = say_empty(extract, err);
		goto fail;
	}
	*result = extract;
	return 0;
fail:
	extract_free(extract);
	return status;
}

void extract_free(struct extract *extract)
{
	if (!extract)
		return;
	verdict_free(extract->verdict);
	counts_free(extract->counts);
	selection_free(extract->selection);
	expansion_free(extract->names_of);
	stack_trie_free(extract->paths);
	free(extract->lanes);
	free(extract->points);
	free(extract->marks);
	buf_release(&extract->names);
	free(extract->name_at);
	free(extract);
}

const char *extract_name(const struct extract *extract, uint32_t label)
{
	return (const char *)extract->names.bytes + extract->name_at[label];
}

void extract_append_placed_name(struct buf *out, const struct extract *extract, uint32_t label)
{
	buf_append_str(out, extract_name(extract, label));
	label_append_place(out, extract->expansion, label);
}

const char *extract_function_file(const struct extract *extract, uint32_t label)
{
	const struct function *function = label_function(extract->expansion, label);

	if (!function || function->file.v == STR_EMPTY.v)
		return NULL;
	return profile_str(extract->profile, function->file);
}

uint32_t extract_function_line(const struct extract *extract, uint32_t label)
{
	const struct function *function = label_function(extract->expansion, label);

	return function ? function->line : 0;
}

void extract_append_lane_name(struct buf *out, const struct extract *extract,
			      const struct lane *lane)
{
	const struct profile *profile = extract->profile;

	buf_append_str(out, profile_str(profile, lane->process_name));
	if (lane->process == PROCESS_NONE)
		return;
	if (lane->thread_name.v != STR_EMPTY.v && lane->thread_name.v != lane->process_name.v)
		buf_printf(out, "/%s", profile_str(profile, lane->thread_name));
	buf_printf(out, " (pid %d, tid %d)", lane->pid, lane->tid);
}

size_t extract_heaviest_lane(const struct extract *extract)
{
	size_t best = 0;

	for (size_t i = 1; i < extract->nr_lanes; i++) {
		if (extract->lanes[i].weight > extract->lanes[best].weight)
			best = i;
	}
	return best;
}

bool extract_is_time(const struct extract *extract)
{
	return extract->options->weights == EXPORT_WEIGHTS_VALUE &&
	       metric_is_time(extract->options->metric);
}

bool extract_is_memory(const struct extract *extract)
{
	return extract->options->weights == EXPORT_WEIGHTS_VALUE &&
	       metric_is_memory(extract->options->metric);
}

bool extract_is_bytes(const struct extract *extract)
{
	return metric_is_bytes(extract->options->metric);
}

const char *extract_unit(const struct extract *extract)
{
	return extract->options->weights == EXPORT_WEIGHTS_VALUE
		       ? metric_unit(extract->options->metric)
		       : "samples";
}

const char *extract_weight_name(const struct extract *extract)
{
	return extract->options->weights == EXPORT_WEIGHTS_VALUE
		       ? metric_name(extract->options->metric)
		       : "samples";
}

void extract_append_title(struct buf *out, const struct extract *extract)
{
	size_t before = out->nr_bytes;

	profile_append_title(out, extract->profile);
	if (out->nr_bytes == before)
		buf_append_str(out, "profc");
}

void extract_append_title_json(struct buf *out, const struct extract *extract)
{
	struct buf title = {0};

	extract_append_title(&title, extract);
	escape_json(out, buf_str(&title));
	buf_release(&title);
}

void extract_passed(const struct extract *extract, const struct lane *lane, size_t i, size_t nr)
{
	progress_set(extract->options->progress, lane->first + lane->nr * i / nr,
		     extract->nr_points);
}

void extract_append_mark(struct buf *out, const struct extract *extract,
			 const struct profile_mark *mark)
{
	buf_printf(out, "mark at %llu.%06llus: %s",
		   (unsigned long long)(mark->time_ns / NS_PER_SEC),
		   (unsigned long long)(mark->time_ns % NS_PER_SEC / 1000),
		   profile_str(extract->profile, mark->text));
}
