// SPDX-License-Identifier: GPL-2.0-or-later
/* Distributes the CPU time between two samples among the samples around it. */
#include "profile/spread.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "profile/profile.h"

#define NONE SIZE_MAX

/* Samples before a gap and after it that share its time. */
#define LOOKS_BEFORE 2
#define LOOKS_AFTER  2

struct spread {
	struct sample *samples; /* borrowed */
	size_t nr_samples;
	uint64_t reach_ns;
	size_t *next;  /* of the same thread, by index of the sample */
	size_t *first; /* by thread */
	size_t *chain; /* the samples of one thread that found it running */
	size_t nr_chain;
	uint64_t *cpu_ns; /* by place in the chain: what they get */
};

static void link_by_thread(struct spread *spread, size_t nr_threads)
{
	for (size_t i = 0; i < nr_threads; i++)
		spread->first[i] = NONE;
	for (size_t i = spread->nr_samples; i-- > 0;) {
		size_t thread = spread->samples[i].thread.v;

		spread->next[i] = spread->first[thread];
		spread->first[thread] = i;
	}
}

/* The samples of one thread that have CPU time: those that found it running, and none after it. */
static void collect(struct spread *spread, size_t thread)
{
	spread->nr_chain = 0;
	for (size_t i = spread->first[thread]; i != NONE; i = spread->next[i]) {
		const struct sample *sample = &spread->samples[i];

		if (sample->kind == SAMPLE_RUNNING && sample->cpu_ns && sample->nr)
			spread->chain[spread->nr_chain++] = i;
	}
}

static uint64_t time_of(const struct spread *spread, size_t at)
{
	return spread->samples[spread->chain[at]].time_ns;
}

/* The samples, from `low` to `high`, that share a gap. */
struct sharers {
	size_t low, high;
};

/* For the gap that sample `at` ended. */
static struct sharers find_sharers(const struct spread *spread, size_t at)
{
	struct sharers found = {.low = at, .high = at};
	uint64_t time_ns = time_of(spread, at);

	while (found.low > 0 && at - found.low < LOOKS_BEFORE &&
	       time_ns - time_of(spread, found.low - 1) <= spread->reach_ns)
		found.low--;
	while (found.high + 1 < spread->nr_chain && found.high + 1 - at < LOOKS_AFTER &&
	       time_of(spread, found.high + 1) - time_ns <= spread->reach_ns)
		found.high++;
	return found;
}

/* To those before the gap and to those after it in equal parts, however many they are. */
static void share_gap(struct spread *spread, size_t at)
{
	uint64_t cpu_ns = spread->samples[spread->chain[at]].cpu_ns;
	struct sharers sharers = find_sharers(spread, at);
	size_t nr_before = at - sharers.low, nr_after = sharers.high - at + 1;
	uint64_t left_ns = cpu_ns;

	for (size_t i = sharers.low; nr_before && i <= sharers.high; i++) {
		uint64_t part_ns = cpu_ns / 2 / (i < at ? nr_before : nr_after);

		spread->cpu_ns[i] += part_ns;
		left_ns -= part_ns;
	}
	spread->cpu_ns[at] += left_ns; /* no sample before it: its own */
}

static void share(struct spread *spread)
{
	for (size_t i = 0; i < spread->nr_chain; i++)
		spread->cpu_ns[i] = 0;
	for (size_t i = 0; i < spread->nr_chain; i++)
		share_gap(spread, i);
	for (size_t i = 0; i < spread->nr_chain; i++)
		spread->samples[spread->chain[i]].cpu_ns = spread->cpu_ns[i];
}

void spread_cpu_time(struct sample *samples, size_t nr_samples, size_t nr_threads,
		     uint64_t reach_ns)
{
	struct spread spread = {
		.samples = samples,
		.nr_samples = nr_samples,
		.reach_ns = reach_ns,
		.next = xcalloc(nr_samples, sizeof(*spread.next)),
		.first = xcalloc(nr_threads, sizeof(*spread.first)),
		.chain = xcalloc(nr_samples, sizeof(*spread.chain)),
		.cpu_ns = xcalloc(nr_samples, sizeof(*spread.cpu_ns)),
	};

	link_by_thread(&spread, nr_threads);
	for (size_t thread = 0; thread < nr_threads; thread++) {
		collect(&spread, thread);
		share(&spread);
	}
	free(spread.next);
	free(spread.first);
	free(spread.chain);
	free(spread.cpu_ns);
}

/* CPU time moves no further than that, or some periods. */
#define REACH_NS      (32 * NS_PER_MS)
#define REACH_PERIODS 8

void profile_spread_cpu_time(struct profile *profile)
{
	uint64_t reach_ns = REACH_NS;

	if (profile->meta.frequency_hz &&
	    REACH_PERIODS * NS_PER_SEC / profile->meta.frequency_hz > reach_ns)
		reach_ns = REACH_PERIODS * NS_PER_SEC / profile->meta.frequency_hz;
	spread_cpu_time(profile->samples, profile->nr_samples, profile->nr_threads, reach_ns);
}
