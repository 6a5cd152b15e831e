// SPDX-License-Identifier: GPL-2.0-or-later
/* Refuses profiles that a reader would refuse. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "store/writer_priv.h"

#define NS_PER_YEAR (365 * 24 * 60 * 60 * NS_PER_SEC)

static bool times_in_bounds(const struct schema *schema, const void *row)
{
	for (unsigned int i = 0; i < schema->nr; i++) {
		const struct schema_column *column = &schema->columns[i];
		bool is_time = column->type == SCHEMA_SPAN || column->type == SCHEMA_TIME ||
			       column->type == SCHEMA_END;

		if (is_time && schema_load(column, row) > TIME_MAX_NS)
			return false;
	}
	return true;
}

static bool rows_in_bounds(const struct profile *profile)
{
	static const enum record_type types[] = {
		RECORD_PROCESSES,  RECORD_THREADS, RECORD_MARKS,     RECORD_COUNTS,
		RECORD_ADVANCES,   RECORD_SPANS,   RECORD_SPAN_SUMS, RECORD_SPAN_LENGTHS,
		RECORD_SLOW_CALLS, RECORD_WAKES};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const struct schema *schema = &schemas[types[i]];
		const uint8_t *rows = schema_rows(profile, types[i]);

		for (size_t row = 0; row < schema_nr_rows(profile, types[i]); row++) {
			if (!times_in_bounds(schema, rows + row * schema->row_bytes))
				return false;
		}
	}
	return times_in_bounds(&schemas[RECORD_META], &profile->meta);
}

static bool calls_in_bounds(const struct profile_probes *probes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < probes->nr_counts; i++) {
		if (!calls_sum_replace(&sum, 0, probes->counts[i].calls))
			return false;
	}
	return true;
}

/* A part was counted with the row that it was split off. */
static bool allocations_in_bounds(struct written_heap *written, const struct profile_heap *heap)
{
	struct new_allocations new;
	bool is = true;

	new_allocations_init(&new, heap, written->nr_summed_allocations);
	for (; is && written->nr_summed_allocations < heap->nr_allocations;
	     written->nr_summed_allocations++) {
		size_t index = written->nr_summed_allocations;

		is = new_allocations_part(&new, heap, (uint32_t)index) ||
		     heap_sums_add(&written->sums, &new.rows[index - new.first]);
	}
	new_allocations_release(&new);
	return is;
}

/* Each row counts once: the sums continue from flush to flush. */
static bool memory_in_bounds(struct written_heap *written, const struct profile_heap *heap)
{
	if (!allocations_in_bounds(written, heap))
		return false;
	for (size_t i = written->nr_freed; i < heap->nr_freed; i++) {
		if (heap->allocations[heap->freed[i]].freed_ns > TIME_MAX_NS)
			return false;
	}
	for (; written->nr_summed_moments < heap->nr_moments; written->nr_summed_moments++) {
		const struct profile_heap_moment *now = &heap->moments[written->nr_summed_moments];
		struct profile_heap_moment *before =
			moment_coder_last(&written->summed, now->process);

		if (!heap_sums_replace(&written->sums, before, now))
			return false;
		*before = *now;
	}
	for (; written->nr_summed_searches < heap->nr_searches; written->nr_summed_searches++) {
		if (!heap_sums_search(&written->sums, &heap->searches[written->nr_summed_searches]))
			return false;
	}
	return true;
}

static bool spans_in_bounds(struct store_writer *writer, const struct profile_spans *spans)
{
	bool is = true;

	for (uint64_t i = writer->nr[RECORD_SPAN_SUMS]; is && i < spans->nr_sums; i++)
		is = span_sums_add(&writer->spans, spans->sums[i].nr_begun,
				   spans->sums[i].total_ns);
	for (uint64_t i = writer->nr[RECORD_SPAN_LENGTHS]; is && i < spans->nr_lengths; i++)
		is = span_sums_add(&writer->spans, spans->lengths[i].nr, 0);
	return is;
}

int writer_check_bounds(struct store_writer *writer, const struct profile *profile, struct err *err)
{
	if (!rows_in_bounds(profile))
		return err_set(err, ERR_LIMIT, "the profile has times of over %llu years",
			       (unsigned long long)(TIME_MAX_NS / NS_PER_YEAR));
	if (profile->nr_counters > COUNTERS_MAX)
		return err_set(err, ERR_LIMIT, "the profile has more than %d counters",
			       COUNTERS_MAX);
	if (!calls_in_bounds(&profile->probes))
		return err_set(err, ERR_LIMIT, "the profile has more than %llu counted calls",
			       (unsigned long long)CALLS_TOTAL_MAX);
	if (!spans_in_bounds(writer, &profile->spans))
		return err_set(err, ERR_LIMIT, "the timed calls of the profile add up to too much");
	if (!memory_in_bounds(&writer->heap, &profile->heap))
		return err_set(err, ERR_LIMIT,
			       "the profile has more memory than %llu bytes, or times of over %llu "
			       "years",
			       (unsigned long long)MEMORY_TOTAL_MAX,
			       (unsigned long long)(TIME_MAX_NS / NS_PER_YEAR));
	for (size_t i = 0; i < profile->advances.nr; i++) {
		if (!advances_sum_add(&writer->nr_advanced, profile->advances.rows[i].amount))
			return err_set(err, ERR_LIMIT,
				       "the profile has counters that advance by more than %llu",
				       (unsigned long long)ADVANCES_SUM_MAX);
	}
	for (size_t i = 0; i < profile->nr_samples; i++) {
		if (!sample_sums_add(&writer->sums, &profile->samples[i]))
			return err_set(err, ERR_LIMIT,
				       "the samples add up to more than %llu years of threads",
				       (unsigned long long)(WEIGHT_TOTAL_MAX_NS / NS_PER_YEAR));
	}
	return 0;
}
