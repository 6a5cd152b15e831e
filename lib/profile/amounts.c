// SPDX-License-Identifier: GPL-2.0-or-later
/* Amounts of metrics in samples and profiles. */
#include "profile/advances.h"
#include "profile/profile.h"
#include "profile/timelines.h"

uint64_t sample_weight(const struct sample *sample, enum metric metric)
{
	const struct metric_info *info = metric_info(metric);

	if (metric == METRIC_SAMPLES)
		return sample->nr;
	return (info->parts & METRIC_HAS_CPU ? sample->cpu_ns : 0) +
	       (info->parts & METRIC_HAS_RUNQ ? sample->runq_ns : 0) +
	       (info->parts & METRIC_HAS_BLOCKED ? sample->blocked_ns : 0);
}

/* The length of all runs; 0 with --within, where the time outside of the function is not known. */
static uint64_t elapsed_ns(const struct profile *profile)
{
	struct timelines *timelines;
	uint64_t sum_ns = 0;

	if (!profile->nr_samples || profile->meta.within.v != STR_EMPTY.v)
		return 0;
	timelines = timelines_new(profile);
	for (size_t i = 0; i < timelines->nr; i++)
		sum_ns += timelines->rows[i].end_ns - timelines->rows[i].begin_ns;
	timelines_free(timelines);
	return sum_ns;
}

uint64_t profile_total(const struct profile *profile, enum metric metric)
{
	uint64_t total = 0;

	if (metric == METRIC_ELAPSED)
		return elapsed_ns(profile);
	if (metric_is_counter(metric))
		return advances_sum(&profile->advances, metric_counter(metric));
	for (size_t i = 0; i < profile->nr_samples; i++)
		total += sample_weight(&profile->samples[i], metric);
	return total;
}

enum metric metric_of_profile(const struct profile *profile)
{
	if (profile_total(profile, METRIC_CPU))
		return METRIC_CPU;
	if (profile->nr_samples)
		return METRIC_WALL;
	return profile_has_heap(profile) ? METRIC_ALLOC : METRIC_CPU;
}

bool profile_has_metric(const struct profile *profile, enum metric metric)
{
	if (!metric_is_memory(metric))
		return profile_total(profile, metric) > 0;
	return profile_has_heap(profile) &&
	       (profile->meta.knows_freeing || !metric_info(metric)->needs_freeing);
}
