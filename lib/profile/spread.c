// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/spread.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "profile/profile.h"

#define NONE SIZE_MAX

/* Looks before a gap and after it that share its time. */
#define LOOKS_BEFORE 2
#define LOOKS_AFTER  2

struct spread {
	size_t *next;  /* of the same thread, by index of the sample */
	size_t *first; /* by thread */
	size_t *chain; /* the looks of one thread that found it running */
	uint64_t *cpu_ns;
};

static void link_by_thread(struct spread *spread, const struct sample *samples, size_t nr_samples,
			   size_t nr_threads)
{
	for (size_t i = 0; i < nr_threads; i++)
		spread->first[i] = NONE;
	for (size_t i = nr_samples; i-- > 0;) {
		size_t thread = samples[i].thread.v;

		spread->next[i] = spread->first[thread];
		spread->first[thread] = i;
	}
}

/* The looks of one thread that have CPU time: those that found it running. */
static size_t collect(struct spread *spread, const struct sample *samples, size_t thread)
{
	size_t nr = 0;

	for (size_t i = spread->first[thread]; i != NONE; i = spread->next[i]) {
		if (samples[i].kind == SAMPLE_RUNNING && samples[i].cpu_ns)
			spread->chain[nr++] = i;
	}
	return nr;
}

static uint64_t time_of(const struct spread *spread, const struct sample *samples, size_t at)
{
	return samples[spread->chain[at]].time_ns;
}

/* The gap that ended with look `at`: who shares it, from `*low` to `*high`. */
static void find_sharers(const struct spread *spread, const struct sample *samples, size_t nr,
			 size_t at, uint64_t reach_ns, size_t *low, size_t *high)
{
	uint64_t time_ns = time_of(spread, samples, at);

	*low = *high = at;
	while (*low > 0 && at - *low < LOOKS_BEFORE &&
	       time_ns - time_of(spread, samples, *low - 1) <= reach_ns)
		--*low;
	while (*high + 1 < nr && *high + 1 - at < LOOKS_AFTER &&
	       time_of(spread, samples, *high + 1) - time_ns <= reach_ns)
		++*high;
}

static void share(struct spread *spread, struct sample *samples, size_t nr, uint64_t reach_ns)
{
	for (size_t i = 0; i < nr; i++)
		spread->cpu_ns[i] = 0;
	for (size_t i = 0; i < nr; i++) {
		uint64_t cpu_ns = samples[spread->chain[i]].cpu_ns;
		size_t low, high;
		uint64_t part;

		find_sharers(spread, samples, nr, i, reach_ns, &low, &high);
		part = cpu_ns / (high - low + 1);
		for (size_t j = low; j <= high; j++)
			spread->cpu_ns[j] += part;
		spread->cpu_ns[i] += cpu_ns - part * (high - low + 1);
	}
	for (size_t i = 0; i < nr; i++)
		samples[spread->chain[i]].cpu_ns = spread->cpu_ns[i];
}

void spread_cpu_time(struct sample *samples, size_t nr_samples, size_t nr_threads,
		     uint64_t reach_ns)
{
	struct spread spread = {
		.next = xcalloc(nr_samples, sizeof(*spread.next)),
		.first = xcalloc(nr_threads, sizeof(*spread.first)),
		.chain = xcalloc(nr_samples, sizeof(*spread.chain)),
		.cpu_ns = xcalloc(nr_samples, sizeof(*spread.cpu_ns)),
	};

	link_by_thread(&spread, samples, nr_samples, nr_threads);
	for (size_t thread = 0; thread < nr_threads; thread++) {
		size_t nr = collect(&spread, samples, thread);

		if (nr > 1)
			share(&spread, samples, nr, reach_ns);
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
