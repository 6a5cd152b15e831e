// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The samples of the page: thread by thread, with all that each weighs in time; and by how much
 * counters of threads have advanced between samples.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "calltree/filter.h"
#include "calltree/observe.h"
#include "export/extract_priv.h"
#include "export/page_data_priv.h"
#include "profile/profile.h"

/* A selected sample, and since when it covers the time of its thread. */
struct covered {
	struct sample sample;
	uint64_t start_ns;
};

/*
 * Selected samples in the order of a walk, each with the moment of its predecessor, selected or
 * not.
 */
struct covered_walk {
	struct selection_walk walk;
	size_t next;	   /* of all samples of the profile */
	uint64_t *last_ns; /* by thread and 1, so that 0 is none */
};

static void covered_walk_init(struct covered_walk *walk, const struct page_data *data)
{
	*walk = (struct covered_walk){
		.last_ns = xcalloc(data->extract->profile->nr_threads, sizeof(*walk->last_ns))};
	selection_walk_init(&walk->walk, data->extract->selection);
}

static void covered_walk_release(struct covered_walk *walk)
{
	selection_walk_release(&walk->walk);
	free(walk->last_ns);
}

static bool covered_walk_next(struct covered_walk *walk, const struct page_data *data,
			      struct covered *covered)
{
	const struct sample *all = data->extract->profile->samples;
	struct sample *sample = &covered->sample;
	uint64_t *last_ns, wall_ns;

	if (!selection_walk_next(&walk->walk, sample))
		return false;
	for (; walk->next + 1 < walk->walk.next; walk->next++)
		walk->last_ns[all[walk->next].thread.v] = all[walk->next].time_ns + 1;
	last_ns = &walk->last_ns[sample->thread.v];
	wall_ns = sample_weight(sample, METRIC_WALL);
	covered->start_ns =
		*last_ns ? *last_ns - 1 : sample->time_ns - min_u64(wall_ns, sample->time_ns);
	return true;
}

/* All selected samples, thread by thread; the caller frees them. */
static struct covered *samples_by_thread(const struct page_data *data, size_t *nr)
{
	const struct profile *profile = data->extract->profile;
	cleanup_free size_t *at = xcalloc(profile->nr_threads + 1, sizeof(*at));
	struct covered *samples = xcalloc(profile->nr_samples, sizeof(*samples));
	struct selection_walk walk;
	struct covered_walk covered_walk;
	struct covered covered;

	selection_walk_init(&walk, data->extract->selection);
	while (selection_walk_next(&walk, &covered.sample))
		at[covered.sample.thread.v + 1]++;
	selection_walk_release(&walk);
	for (size_t i = 0; i < profile->nr_threads; i++)
		at[i + 1] += at[i];
	*nr = at[profile->nr_threads];
	covered_walk_init(&covered_walk, data);
	while (covered_walk_next(&covered_walk, data, &covered))
		samples[at[covered.sample.thread.v]++] = covered;
	covered_walk_release(&covered_walk);
	return samples;
}

void page_samples_meet(struct page_data *data)
{
	data->samples = samples_by_thread(data, &data->nr_samples);
	for (size_t i = 0; i < data->nr_samples; i++)
		page_meet(data, &data->samples[i].sample);
}

const struct expansion *page_expansion(const struct page_data *data)
{
	return data->extract->expansion;
}

const struct sample *page_sample(const struct page_data *data, size_t i)
{
	return &data->samples[i].sample;
}

static bool is_first(const struct covered *samples, size_t i)
{
	return i == 0 || samples[i - 1].sample.thread.v != samples[i].sample.thread.v;
}

static void write_threads(struct page_data *data, const struct covered *samples, size_t nr)
{
	page_columns_begin(&data->columns, "sampleThread");
	for (size_t i = 0; i < nr; i++)
		if (is_first(samples, i))
			page_columns_add(&data->columns,
					 numbering_of(&data->threads, samples[i].sample.thread.v));
	page_columns_begin(&data->columns, "threadSamples");
	for (size_t i = 0, first = 0; i < nr; i++) {
		if (i + 1 < nr && !is_first(samples, i + 1))
			continue;
		page_columns_add(&data->columns, i + 1 - first);
		first = i + 1;
	}
}

/* From the end of the sample before, or from 0: to the start, then to the end. */
static void write_times(struct page_data *data, const struct covered *samples, size_t nr)
{
	uint64_t before = 0;

	page_columns_begin(&data->columns, "sampleGap");
	for (size_t i = 0; i < nr; i++) {
		uint64_t start = samples[i].start_ns / data->grain_ns;

		if (is_first(samples, i))
			before = 0;
		page_columns_add(&data->columns, start > before ? start - before : 0);
		before = samples[i].sample.time_ns / data->grain_ns;
	}
	page_columns_begin(&data->columns, "sampleEnd");
	for (size_t i = 0; i < nr; i++) {
		uint64_t end = samples[i].sample.time_ns / data->grain_ns;

		if (is_first(samples, i))
			before = 0;
		page_columns_add(&data->columns, end > before ? end - before : 0);
		before = end;
	}
}

/*
 * A weight in multiples of the grain. The rounding error is carried to the next sample of the
 * thread, so that sums are right; *rest_ns belongs to one column, and may be anything at first.
 */
static uint64_t rounded(const struct page_data *data, size_t i, enum metric metric,
			uint64_t *rest_ns)
{
	uint64_t carried_ns = is_first(data->samples, i) ? 0 : *rest_ns;
	uint64_t sum_ns = sample_weight(&data->samples[i].sample, metric) + carried_ns;

	*rest_ns = sum_ns % data->grain_ns;
	return sum_ns / data->grain_ns;
}

static void write_weights(struct page_data *data, enum metric metric, const char *name)
{
	uint64_t rest_ns = 0;

	page_columns_begin(&data->columns, name);
	for (size_t i = 0; i < data->nr_samples; i++)
		page_columns_add(&data->columns, rounded(data, i, metric, &rest_ns));
}

/* The weight of a sample in the metric, as the scripts of the page have it. */
static uint64_t shown_weight(const struct page_data *data, size_t i, enum metric metric,
			     uint64_t rests_ns[3])
{
	static const enum metric parts[] = {METRIC_CPU, METRIC_RUNQ, METRIC_BLOCKED};
	uint64_t weight = 0;

	if (metric == METRIC_SAMPLES)
		return data->samples[i].sample.nr;
	for (size_t part = 0; part < ARRAY_SIZE(parts); part++)
		if (metric == METRIC_WALL || metric == parts[part])
			weight += rounded(data, i, parts[part], &rests_ns[part]);
	if (weight && data->extract->options->weights == EXPORT_WEIGHTS_SAMPLES)
		return data->samples[i].sample.nr;
	return weight;
}

void page_samples_weigh(struct page_data *data, uint64_t *weights)
{
	uint64_t rests_ns[3] = {0};

	for (size_t i = 0; i < data->nr_samples; i++)
		weights[path_of(data->paths, &data->samples[i].sample).v] +=
			shown_weight(data, i, data->extract->options->metric, rests_ns);
}

void page_samples_write(struct page_data *data)
{
	write_threads(data, data->samples, data->nr_samples);
	write_times(data, data->samples, data->nr_samples);
	page_columns_begin(&data->columns, "sampleLeaf");
	for (size_t i = 0; i < data->nr_samples; i++)
		page_columns_add(&data->columns, page_leaf(data, &data->samples[i].sample));
	write_weights(data, METRIC_CPU, "sampleCpu");
	write_weights(data, METRIC_RUNQ, "sampleRunq");
	write_weights(data, METRIC_BLOCKED, "sampleBlocked");
	page_columns_begin(&data->columns, "sampleNr");
	for (size_t i = 0; i < data->nr_samples; i++)
		page_columns_add(&data->columns, data->samples[i].sample.nr);
}

/* --- counters, and elapsed time --- */

/* The page has elapsed time only if that is asked for where it would make the page much larger. */
#define ELAPSED_SAMPLES_MAX 50000

bool page_has_elapsed(const struct extract *extract)
{
	return profile_has_metric(extract->profile, METRIC_ELAPSED) &&
	       (extract->options->metric == METRIC_ELAPSED ||
		extract->profile->nr_samples <= ELAPSED_SAMPLES_MAX);
}

/*
 * The selected advances of all counters, one counter after the other. Elapsed time, which comes
 * first, has the same form.
 */
struct advance_walk {
	const struct page_data *data;
	enum metric metric; /* of the current one; METRIC_COUNT: the walk is over */
	struct observation_walk walk;
	struct observation current;
};

static void begin_counter(struct advance_walk *walk)
{
	const struct profile *profile = walk->data->extract->profile;

	if (walk->metric == METRIC_ELAPSED + 1 ||
	    (walk->metric == METRIC_ELAPSED && !page_has_elapsed(walk->data->extract)))
		walk->metric = METRIC_KERNEL;
	while (walk->metric < METRIC_COUNT && !profile_total(profile, walk->metric))
		walk->metric++;
	if (walk->metric < METRIC_COUNT)
		observation_walk_init(&walk->walk, walk->data->extract->selection, walk->metric);
}

static struct advance_walk walk_advances(const struct page_data *data)
{
	struct advance_walk walk = {.data = data, .metric = METRIC_ELAPSED};

	begin_counter(&walk);
	return walk;
}

static bool next_advance(struct advance_walk *walk)
{
	while (walk->metric < METRIC_COUNT) {
		if (observation_walk_next(&walk->walk, &walk->current))
			return true;
		observation_walk_release(&walk->walk);
		walk->metric++;
		begin_counter(walk);
	}
	return false;
}

void page_advances_meet(struct page_data *data)
{
	struct advance_walk walk = walk_advances(data);

	while (next_advance(&walk))
		page_meet(data, &walk.current.sample);
}

void page_advances_weigh(struct page_data *data, uint64_t *weights)
{
	struct advance_walk walk = walk_advances(data);

	while (next_advance(&walk))
		if (walk.metric == data->extract->options->metric)
			weights[path_of(data->paths, &walk.current.sample).v] +=
				walk.current.weight;
}

static uint64_t metric_of(struct page_data *data, const struct advance_walk *walk)
{
	(void)data;
	return walk->metric;
}

static uint64_t thread_of(struct page_data *data, const struct advance_walk *walk)
{
	return numbering_of(&data->threads, walk->current.sample.thread.v);
}

static uint64_t leaf_of(struct page_data *data, const struct advance_walk *walk)
{
	return page_leaf(data, &walk->current.sample);
}

static uint64_t amount_of(struct page_data *data, const struct advance_walk *walk)
{
	(void)data;
	return walk->current.weight;
}

static uint64_t nr_of(struct page_data *data, const struct advance_walk *walk)
{
	(void)data;
	return walk->current.sample.nr;
}

static void write_advances(struct page_data *data, const char *name,
			   uint64_t (*value)(struct page_data *data,
					     const struct advance_walk *walk))
{
	struct advance_walk walk = walk_advances(data);

	page_columns_begin(&data->columns, name);
	while (next_advance(&walk))
		page_columns_add(&data->columns, value(data, &walk));
}

static void write_advance_times(struct page_data *data)
{
	struct advance_walk walk = walk_advances(data);
	uint64_t before = 0;

	page_columns_begin(&data->columns, "advanceTime");
	while (next_advance(&walk)) {
		uint64_t at = walk.current.sample.time_ns / SAMPLE_TIME_GRAIN_NS;

		page_columns_add_signed(&data->columns, (int64_t)(at - before));
		before = at;
	}
}

/* Only the rows of elapsed time, which come first, have these: their length and errors. */
static void write_elapsed(struct page_data *data, const char *name,
			  double (*value)(const struct observation *observation))
{
	struct observation_walk walk;
	struct observation observation;

	page_columns_begin(&data->columns, name);
	observation_walk_init(&walk, data->extract->selection, METRIC_ELAPSED);
	while (observation_walk_next(&walk, &observation))
		page_columns_add(&data->columns, (uint64_t)(value(&observation) + 0.5));
	observation_walk_release(&walk);
}

static double span_of(const struct observation *observation)
{
	return (double)(observation->sample.time_ns - observation->begin_ns);
}

static double spread_of(const struct observation *observation)
{
	return sqrt(observation->square);
}

static double slack_of(const struct observation *observation)
{
	return observation->slack;
}

void page_advances_write(struct page_data *data)
{
	bool has_elapsed = page_has_elapsed(data->extract);

	if (has_elapsed) {
		write_elapsed(data, "advanceSpan", span_of);
		write_elapsed(data, "advanceSpread", spread_of);
		write_elapsed(data, "advanceSlack", slack_of);
	}
	if (!data->extract->profile->advances.nr && !has_elapsed)
		return;
	write_advances(data, "advanceMetric", metric_of);
	write_advances(data, "advanceThread", thread_of);
	write_advance_times(data);
	write_advances(data, "advanceLeaf", leaf_of);
	write_advances(data, "advanceAmount", amount_of);
	write_advances(data, "advanceNr", nr_of);
}
