// SPDX-License-Identifier: GPL-2.0-or-later
/* Metrics: their names, units and weights. */
#include <string.h>

#include "base/alloc.h"
#include "profile/profile.h"

#define TIME_NAMES                                                                                 \
	[METRIC_CPU] = "cpu", [METRIC_WALL] = "wall", [METRIC_RUNQ] = "runq",                      \
	[METRIC_BLOCKED] = "blocked", [METRIC_SAMPLES] = "samples"
#define MEMORY_NAMES                                                                               \
	[METRIC_ALLOC] = "alloc", [METRIC_ALLOCS] = "allocs", [METRIC_LIVE] = "live",              \
	[METRIC_PEAK] = "peak", [METRIC_LEAKED] = "leaked", [METRIC_TEMPORARY] = "temporary",      \
	[METRIC_FREED] = "freed"

const char *const metric_names[] = {TIME_NAMES, MEMORY_NAMES, NULL};
const char *const metric_names_and_calls[] = {TIME_NAMES, MEMORY_NAMES, "calls", NULL};

bool metric_parse(const char *text, enum metric *metric)
{
	for (size_t i = 0; metric_names[i]; i++) {
		if (strcmp(text, metric_names[i]) == 0) {
			*metric = (enum metric)i;
			return true;
		}
	}
	return false;
}

const char *metric_name(enum metric metric)
{
	return metric_names[metric];
}

const char *metric_unit(enum metric metric)
{
	if (metric_is_memory(metric))
		return metric == METRIC_ALLOCS ? "blocks" : "bytes";
	return metric == METRIC_SAMPLES ? "samples" : "ns";
}

bool metric_is_time(enum metric metric)
{
	return metric < METRIC_SAMPLES;
}

bool metric_is_memory(enum metric metric)
{
	return metric > METRIC_SAMPLES;
}

uint64_t sample_weight(const struct sample *sample, enum metric metric)
{
	switch (metric) {
	case METRIC_CPU:
		return sample->cpu_ns;
	case METRIC_WALL:
		return sample->cpu_ns + sample->runq_ns + sample->blocked_ns;
	case METRIC_RUNQ:
		return sample->runq_ns;
	case METRIC_BLOCKED:
		return sample->blocked_ns;
	case METRIC_SAMPLES:
		return sample->nr;
	case METRIC_ALLOC:
	case METRIC_ALLOCS:
	case METRIC_LIVE:
	case METRIC_PEAK:
	case METRIC_LEAKED:
	case METRIC_TEMPORARY:
	case METRIC_FREED:
		break;
	}
	return 0;
}

uint64_t profile_total(const struct profile *profile, enum metric metric)
{
	uint64_t total = 0;

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
