// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/spread.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"

#define NONE SIZE_MAX

/* Looks before a gap and after it that share its time. */
#define LOOKS_BEFORE 2
#define LOOKS_AFTER  2

static void make_room(struct spread *spread, size_t nr_samples, size_t nr_threads)
{
	if (nr_samples > spread->cap_samples) {
		spread->cap_samples = nr_samples * 2;
		spread->next = xrealloc_array(spread->next, spread->cap_samples, sizeof(size_t));
		spread->chain = xrealloc_array(spread->chain, spread->cap_samples, sizeof(size_t));
		spread->cpu_ns =
			xrealloc_array(spread->cpu_ns, spread->cap_samples, sizeof(uint64_t));
	}
	if (nr_threads > spread->cap_threads) {
		spread->cap_threads = nr_threads * 2;
		spread->first = xrealloc_array(spread->first, spread->cap_threads, sizeof(size_t));
	}
}

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

void spread_cpu_time(struct spread *spread, struct sample *samples, size_t nr_samples,
		     size_t nr_threads, uint64_t reach_ns)
{
	make_room(spread, nr_samples, nr_threads);
	link_by_thread(spread, samples, nr_samples, nr_threads);
	for (size_t thread = 0; thread < nr_threads; thread++) {
		size_t nr = collect(spread, samples, thread);

		if (nr > 1)
			share(spread, samples, nr, reach_ns);
	}
}

void spread_release(struct spread *spread)
{
	free(spread->next);
	free(spread->first);
	free(spread->chain);
	free(spread->cpu_ns);
	*spread = (struct spread){0};
}
