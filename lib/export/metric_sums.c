// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums of all metrics by path. */
#include "export/metric_sums_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "calltree/observe.h"
#include "export/extract_priv.h"

/* --- columns --- */

static bool is_recorded(const struct profile *profile, enum metric metric)
{
	return metric_is_of_samples(metric) ? profile->nr_samples > 0
					    : profile_has_metric(profile, metric);
}

static void add_column(struct metric_sums *sums, enum metric metric, bool is_number)
{
	const struct metric_info *info = metric_info(metric);

	sums->columns[sums->nr_columns++] = (struct metric_column){
		.metric = metric,
		.is_number = is_number,
		.type = is_number ? info->pprof_count : info->pprof_weight,
		.unit = is_number || info->kind == METRIC_OF_COUNT ? "count"
			: info->kind == METRIC_OF_TIME		   ? "nanoseconds"
								   : "bytes",
	};
}

static void add_columns(struct metric_sums *sums, const struct extract *extract, enum metric metric)
{
	const struct metric_info *info = metric_info(metric);

	/* It takes a while, so that it is only there if it is asked for. */
	if (metric == METRIC_ELAPSED && metric != extract->options->metric)
		return;
	if (!is_recorded(extract->profile, metric))
		return;
	if (info->pprof_count)
		add_column(sums, metric, true);
	if (info->pprof_weight)
		add_column(sums, metric, false);
	if (metric == extract->options->metric && (info->pprof_count || info->pprof_weight))
		sums->default_column = sums->nr_columns - 1;
	/* The number of blocks is in the column before that of their bytes. */
	if (metric == METRIC_ALLOC && extract->options->metric == METRIC_ALLOCS)
		sums->default_column = sums->nr_columns - 2;
}

static void choose_columns(struct metric_sums *sums, const struct extract *extract)
{
	if (extract->options->weights == EXPORT_WEIGHTS_SAMPLES) {
		add_column(sums, METRIC_SAMPLES, true);
		sums->columns[0].metric = extract->options->metric;
		return;
	}
	if (extract->options->only_metric) {
		add_columns(sums, extract, extract->options->metric);
		return;
	}
	/* Readers expect the number of samples first. */
	add_columns(sums, extract, METRIC_SAMPLES);
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		if (metric != METRIC_SAMPLES)
			add_columns(sums, extract, (enum metric)metric);
}

/* --- rows --- */

static bool is_row(const void *owner, uint32_t index, const void *key)
{
	const struct metric_sums *sums = owner;
	const struct metric_row *row = key;

	return sums->rows[index].group == row->group && sums->rows[index].path.v == row->path.v &&
	       sums->rows[index].labels == row->labels;
}

static uint64_t *values_of(struct metric_sums *sums, const struct metric_row *row)
{
	uint64_t hash = hash_mix(hash_u64((uint64_t)row->labels << 32 | row->path.v), row->group);
	uint32_t index = index_set_find(&sums->set, hash, is_row, sums, row);

	if (index == INDEX_NONE) {
		index = (uint32_t)sums->nr_rows;
		ARRAY_GROW(sums->rows, sums->nr_rows, sums->cap_rows);
		sums->rows[sums->nr_rows++] = *row;
		ARRAY_RESERVE(sums->values, sums->nr_values + sums->nr_columns, sums->cap_values);
		memset(sums->values + sums->nr_values, 0, sums->nr_columns * sizeof(*sums->values));
		sums->nr_values += sums->nr_columns;
		index_set_add(&sums->set, hash, index);
	}
	return sums->values + (size_t)index * sums->nr_columns;
}

static uint32_t group_of(const struct extract *extract, struct thread_id thread)
{
	const struct profile *profile = extract->profile;

	switch (extract->options->threads) {
	case EXPORT_THREADS_SPLIT:
		return thread.v;
	case EXPORT_THREADS_MERGE:
		return profile->processes[profile->threads[thread.v].process].name.v;
	case EXPORT_THREADS_DEFAULT:
		break;
	}
	return 0;
}

static struct metric_row row_of(const struct extract *extract, struct path_maker *maker,
				const struct sample *sample)
{
	return (struct metric_row){.group = group_of(extract, sample->thread),
				   .labels = sample->labels,
				   .path = path_of(maker, sample)};
}

/* --- values --- */

static bool has_values(const struct metric_sums *sums, const struct sample *sample)
{
	for (unsigned int i = 0; i < sums->nr_columns; i++)
		if (sums->columns[i].metric != METRIC_ELAPSED &&
		    sample_weight(sample, sums->columns[i].metric))
			return true;
	return false;
}

/* All that samples have in one walk. */
static void add_samples(struct metric_sums *sums, const struct extract *extract,
			struct path_maker *maker)
{
	struct observation_walk walk;
	struct observation observation;
	size_t nr = 0;

	observation_walk_init(&walk, extract->selection, METRIC_WALL);
	while (observation_walk_next(&walk, &observation)) {
		const struct sample *sample = &observation.sample;
		struct metric_row row;
		uint64_t *values;

		progress_set(extract->options->progress, ++nr, extract->profile->nr_samples);
		if (!has_values(sums, sample))
			continue;
		row = row_of(extract, maker, sample);
		values = values_of(sums, &row);
		for (unsigned int i = 0; i < sums->nr_columns; i++)
			if (sums->columns[i].metric != METRIC_ELAPSED)
				values[i] += sample_weight(sample, sums->columns[i].metric);
	}
	observation_walk_release(&walk);
}

/* Estimated numbers of blocks are fractions: each rounding error is carried to the next number. */
static uint64_t whole_part(double *carry, double amount)
{
	double sum = *carry + amount;

	*carry = sum - floor(sum);
	return (uint64_t)floor(sum);
}

/* The two columns of a metric of memory, from the first on. */
static void add_blocks(struct metric_sums *sums, const struct extract *extract,
		       struct path_maker *maker, unsigned int first)
{
	struct observation_walk walk;
	struct observation observation;
	double carry = 0;

	observation_walk_init(&walk, extract->selection, sums->columns[first].metric);
	while (observation_walk_next(&walk, &observation)) {
		struct metric_row row = row_of(extract, maker, &observation.sample);
		uint64_t *values = values_of(sums, &row);

		values[first] += whole_part(&carry, observation.blocks);
		values[first + 1] += observation.weight;
	}
	observation_walk_release(&walk);
}

static void add_advances(struct metric_sums *sums, const struct extract *extract,
			 struct path_maker *maker, unsigned int column)
{
	struct observation_walk walk;
	struct observation observation;

	observation_walk_init(&walk, extract->selection, sums->columns[column].metric);
	while (observation_walk_next(&walk, &observation)) {
		struct metric_row row = row_of(extract, maker, &observation.sample);

		values_of(sums, &row)[column] += observation.weight;
	}
	observation_walk_release(&walk);
}

/* The only column: how many observations had any of the metric. */
static void add_numbers(struct metric_sums *sums, const struct extract *extract,
			struct path_maker *maker)
{
	struct observation_walk walk;
	struct observation observation;

	observation_walk_init(&walk, extract->selection, extract->options->metric);
	while (observation_walk_next(&walk, &observation)) {
		struct metric_row row;

		if (!observation.weight || !observation.sample.nr)
			continue;
		row = row_of(extract, maker, &observation.sample);
		*values_of(sums, &row) += observation.sample.nr;
	}
	observation_walk_release(&walk);
}

static bool is_empty(const uint64_t *values, unsigned int nr)
{
	while (nr && !values[nr - 1])
		nr--;
	return nr == 0;
}

static void drop_empty_rows(struct metric_sums *sums)
{
	size_t kept = 0;

	for (size_t i = 0; i < sums->nr_rows; i++) {
		const uint64_t *values = sums->values + i * sums->nr_columns;

		if (is_empty(values, sums->nr_columns))
			continue;
		memmove(sums->values + kept * sums->nr_columns, values,
			sums->nr_columns * sizeof(*values));
		sums->rows[kept++] = sums->rows[i];
	}
	sums->nr_rows = kept;
	index_set_release(&sums->set); /* knows them by their former indexes */
}

void metric_sums_init(struct metric_sums *sums, const struct extract *extract)
{
	struct path_maker *maker = path_maker_new(extract->expansion, PATH_FRAMES, extract->paths);

	*sums = (struct metric_sums){0};
	choose_columns(sums, extract);
	if (extract->options->weights == EXPORT_WEIGHTS_SAMPLES) {
		add_numbers(sums, extract, maker);
	} else {
		if (extract->profile->nr_samples)
			add_samples(sums, extract, maker);
		for (unsigned int i = 0; i < sums->nr_columns; i++) {
			if (metric_is_memory(sums->columns[i].metric) && sums->columns[i].is_number)
				add_blocks(sums, extract, maker, i);
			else if (metric_is_counter(sums->columns[i].metric) ||
				 sums->columns[i].metric == METRIC_ELAPSED)
				add_advances(sums, extract, maker, i);
		}
	}
	drop_empty_rows(sums);
	path_maker_free(maker);
}

void metric_sums_release(struct metric_sums *sums)
{
	free(sums->rows);
	free(sums->values);
	index_set_release(&sums->set);
	*sums = (struct metric_sums){0};
}
