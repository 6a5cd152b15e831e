// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The samples of the page: thread by thread, with all that each weighs in time; and by how much
 * counters of threads have advanced between samples.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/key_map.h"
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
	uint32_t path;
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
		data->samples[i].path = page_meet(data, &data->samples[i].sample);
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
		weights[data->samples[i].path] +=
			shown_weight(data, i, data->extract->options->metric, rests_ns);
}

/* --- threads, and sums by stack --- */

/* The samples of a thread, those before `end`. */
struct run {
	uint32_t group; /* of threads, as the page shows them first */
	size_t first, end;
};

struct runs {
	struct run *runs;
	size_t nr;
};

/* The caller frees them. */
static struct runs find_runs(const struct page_data *data)
{
	struct runs found = {
		.runs = xcalloc(data->extract->profile->nr_threads, sizeof(*found.runs))};

	for (size_t i = 0; i < data->nr_samples; i++) {
		if (is_first(data->samples, i))
			found.runs[found.nr++].first = i;
		found.runs[found.nr - 1].end = i + 1;
	}
	return found;
}

static uint32_t thread_of_run(const struct page_data *data, const struct run *run)
{
	return data->samples[run->first].sample.thread.v;
}

static void write_threads(struct page_data *data, const struct runs *runs)
{
	page_columns_begin(&data->columns, "sampleThread");
	for (size_t i = 0; i < runs->nr; i++)
		page_columns_add(&data->columns,
				 numbering_of(&data->threads, thread_of_run(data, &runs->runs[i])));
	page_columns_begin(&data->columns, "threadSamples");
	for (size_t i = 0; i < runs->nr; i++)
		page_columns_add(&data->columns, runs->runs[i].end - runs->runs[i].first);
	page_columns_begin(&data->columns, "threadStart");
	for (size_t i = 0; i < runs->nr; i++)
		page_columns_add(&data->columns,
				 data->samples[runs->runs[i].first].start_ns / data->grain_ns);
	page_columns_begin(&data->columns, "threadCpu");
	for (size_t i = 0; i < runs->nr; i++) {
		uint64_t rest_ns = 0, sum = 0;

		for (size_t k = runs->runs[i].first; k < runs->runs[i].end; k++)
			sum += rounded(data, k, METRIC_CPU, &rest_ns);
		page_columns_add(&data->columns, sum);
	}
}

static uint32_t leaf_of_sample(struct page_data *data, size_t i)
{
	return numbering_of(&data->leaves, data->rows.stack_of_path[data->samples[i].path]);
}

/* In multiples of the grain, or of its square. */
struct sums {
	uint32_t leaf;
	uint64_t weight, nr, known;
	double square, joint;
};

/* The sums of one group after the other. */
struct stack_sums {
	struct sums *rows;
	size_t nr, cap;
	size_t first;	  /* of the group */
	size_t *row_of;	  /* by leaf: its last row, and 1 */
	size_t *group_nr; /* by group: rows */
};

static struct sums *sums_of(struct stack_sums *all, uint32_t leaf)
{
	if (all->row_of[leaf] <= all->first) {
		ARRAY_GROW(all->rows, all->nr, all->cap);
		all->rows[all->nr++] = (struct sums){.leaf = leaf};
		all->row_of[leaf] = all->nr;
	}
	return &all->rows[all->row_of[leaf] - 1];
}

/* As addSamples() of select.js has it. */
static void add_run(struct page_data *data, struct stack_sums *all, const struct run *run)
{
	enum metric metric = data->extract->options->metric;
	uint64_t rests_ns[3] = {0}, rest_ns = 0, last_end = 0;
	uint32_t last_leaf = UINT32_MAX; /* the sample before was one observation of this */
	double last_square = 0;

	for (size_t i = run->first; i < run->end; i++) {
		const struct sample *sample = &data->samples[i].sample;
		uint64_t end = sample->time_ns / data->grain_ns;
		uint64_t weight = shown_weight(data, i, metric, rests_ns);
		uint64_t blocked =
			metric == METRIC_WALL ? rounded(data, i, METRIC_BLOCKED, &rest_ns) : 0;
		double estimated, square;
		struct sums *sums;
		uint64_t known;

		if (!weight)
			continue;
		sums = sums_of(all, leaf_of_sample(data, i));
		known = sample->nr ? 0 : min_u64(weight, blocked);
		estimated = (double)(weight - known);
		square = sample->nr ? estimated * estimated / sample->nr : 0;
		sums->weight += weight;
		sums->nr += sample->nr;
		sums->known += known;
		sums->square += square;
		if (sample->nr == 1 && last_leaf == sums->leaf && last_end < end)
			sums->joint += (last_square + square) / 2;
		if (sample->nr) {
			last_leaf = sample->nr == 1 ? sums->leaf : UINT32_MAX;
			last_end = end;
			last_square = square;
		}
	}
}

static int by_group(const void *left, const void *right)
{
	const struct run *a = left, *b = right;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static int by_leaf(const void *left, const void *right)
{
	const struct sums *a = left, *b = right;

	return (a->leaf > b->leaf) - (a->leaf < b->leaf);
}

/* By the name of the process, or each thread for itself. Returns how many there are. */
static uint32_t group_runs(const struct page_data *data, const struct runs *runs)
{
	const struct profile *profile = data->extract->profile;
	bool merges = data->extract->options->threads == EXPORT_THREADS_MERGE;
	struct numbering groups;
	uint32_t nr;

	numbering_init(&groups, merges ? strtab_nr(profile->strings) : profile->nr_threads);
	for (size_t i = 0; i < runs->nr; i++) {
		uint32_t thread = thread_of_run(data, &runs->runs[i]);
		uint32_t process = profile->threads[thread].process;

		runs->runs[i].group =
			numbering_of(&groups, merges ? profile->processes[process].name.v : thread);
	}
	nr = groups.nr;
	numbering_release(&groups);
	qsort(runs->runs, runs->nr, sizeof(*runs->runs), by_group);
	return nr;
}

static struct stack_sums add_up(struct page_data *data, const struct runs *runs, uint32_t nr_groups)
{
	struct stack_sums all = {.row_of = xcalloc(data->leaves.nr, sizeof(*all.row_of)),
				 .group_nr = xcalloc(nr_groups, sizeof(*all.group_nr))};

	for (size_t i = 0; i < runs->nr; i++) {
		add_run(data, &all, &runs->runs[i]);
		if (i + 1 < runs->nr && runs->runs[i + 1].group == runs->runs[i].group)
			continue;
		all.group_nr[runs->runs[i].group] = all.nr - all.first;
		if (all.nr > all.first)
			qsort(all.rows + all.first, all.nr - all.first, sizeof(*all.rows), by_leaf);
		all.first = all.nr;
	}
	free(all.row_of);
	return all;
}

/* Larger ones are in no profile but a made one. */
static int64_t bounded_square(double square)
{
	return (int64_t)(square < 4e18 ? square : 4e18);
}

/* The sum of squares if all observations were equal: the rest takes few bytes. */
static int64_t even_square(const struct sums *sums)
{
	double estimated = (double)(sums->weight - sums->known);

	return sums->nr ? bounded_square(estimated * estimated / (double)sums->nr) : 0;
}

static void write_sums(struct page_data *data, const struct stack_sums *all)
{
	page_columns_begin(&data->columns, "sumLeaf");
	for (size_t i = 0; i < all->nr; i++) {
		uint32_t before = i ? all->rows[i - 1].leaf : 0;

		page_columns_add_signed(&data->columns, (int64_t)all->rows[i].leaf - before);
	}
	page_columns_begin(&data->columns, "sumWeight");
	for (size_t i = 0; i < all->nr; i++)
		page_columns_add(&data->columns, all->rows[i].weight);
	page_columns_begin(&data->columns, "sumNr");
	for (size_t i = 0; i < all->nr; i++)
		page_columns_add(&data->columns, all->rows[i].nr);
	page_columns_begin(&data->columns, "sumKnown");
	for (size_t i = 0; i < all->nr; i++)
		page_columns_add(&data->columns, all->rows[i].known);
	page_columns_begin(&data->columns, "sumSquare");
	for (size_t i = 0; i < all->nr; i++)
		page_columns_add_signed(&data->columns, bounded_square(all->rows[i].square + 0.5) -
								even_square(&all->rows[i]));
	page_columns_begin(&data->columns, "sumJoint");
	for (size_t i = 0; i < all->nr; i++)
		page_columns_add(&data->columns, (uint64_t)(2 * all->rows[i].joint + 0.5));
}

static void write_groups(struct page_data *data, const struct runs *runs, uint32_t nr_groups,
			 const struct stack_sums *all)
{
	page_columns_begin(&data->columns, "groupThread");
	for (size_t i = 0; i < runs->nr; i++)
		if (i == 0 || runs->runs[i].group != runs->runs[i - 1].group)
			page_columns_add(
				&data->columns,
				numbering_of(&data->threads, thread_of_run(data, &runs->runs[i])));
	page_columns_begin(&data->columns, "groupSums");
	for (uint32_t i = 0; i < nr_groups; i++)
		page_columns_add(&data->columns, all->group_nr[i]);
}

/* Has an id several rows? The page takes threads of one name and id for one. */
static bool is_reused(const struct profile *profile)
{
	struct key_map seen = {0};
	bool found = false;
	uint32_t row;

	for (uint32_t i = 0; i < profile->nr_threads && !found; i++) {
		/* Some have no id, and no key is 0. */
		uint64_t key = (uint64_t)(uint32_t)profile->threads[i].tid + 1;

		found = key_map_find(&seen, 0, key, &row);
		key_map_put(&seen, 0, key, i);
	}
	key_map_release(&seen);
	return found;
}

/* Only a large page of one recording shows itself before its samples are read. */
static bool has_sums(const struct page_data *data)
{
	const struct export_options *options = data->extract->options;

	if (options->threads == EXPORT_THREADS_SPLIT && is_reused(data->extract->profile))
		return false;
	return data->is_alone && data->nr_samples > PAGE_SAMPLES_EXACT &&
	       (options->metric == METRIC_CPU || options->metric == METRIC_WALL ||
		options->metric == METRIC_RUNQ) &&
	       options->weights != EXPORT_WEIGHTS_SAMPLES;
}

void page_threads_write(struct page_data *data)
{
	struct runs runs = find_runs(data);

	write_threads(data, &runs);
	if (has_sums(data)) {
		uint32_t nr_groups = group_runs(data, &runs);
		struct stack_sums all = add_up(data, &runs, nr_groups);

		write_groups(data, &runs, nr_groups, &all);
		write_sums(data, &all);
		free(all.rows);
		free(all.group_nr);
	}
	free(runs.runs);
}

void page_samples_write(struct page_data *data)
{
	write_times(data, data->samples, data->nr_samples);
	page_columns_begin(&data->columns, "sampleLeaf");
	for (size_t i = 0; i < data->nr_samples; i++)
		page_columns_add(&data->columns, leaf_of_sample(data, i));
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
		(void)page_meet(data, &walk.current.sample);
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
