// SPDX-License-Identifier: GPL-2.0-or-later
/* Distributes the CPU time between two samples among the samples around it. */
#include "profile/spread.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "profile/profile.h"

/*
 * The numbers of samples before and after a gap that share its time, the one at its end included.
 */
#define LOOKS_BEFORE 2
#define LOOKS_AFTER  2

/* A sample of a running thread, with its CPU time as recorded. */
struct look {
	struct sample *sample;
	uint64_t cpu_ns;
};

/*
 * The last samples of a thread, the newest first. A gap can be shared once the sample after the
 * gap's end is known: this needs one pass over the samples of all threads, which changes only
 * recently read samples.
 */
struct window {
	struct look looks[LOOKS_BEFORE + LOOKS_AFTER];
	size_t nr;
};

static bool is_near(const struct look *a, const struct look *b, uint64_t reach_ns)
{
	return b->sample->time_ns - a->sample->time_ns <= reach_ns;
}

/*
 * Share the gap before look number `at`, with `at` newer looks: half to the looks before the gap,
 * half to those after it, however many there are.
 */
static void share_gap(struct window *window, size_t at, uint64_t reach_ns)
{
	struct look *looks = window->looks;
	size_t nr_before = 0, nr_after = 1 + (at && is_near(&looks[at], &looks[at - 1], reach_ns));
	uint64_t half_ns = looks[at].cpu_ns / 2, left_ns = looks[at].cpu_ns;

	while (nr_before < LOOKS_BEFORE && at + nr_before + 1 < window->nr &&
	       is_near(&looks[at + nr_before + 1], &looks[at], reach_ns))
		nr_before++;
	for (size_t i = 0; nr_before && i < nr_before + nr_after; i++) {
		bool is_before = i < nr_before;
		uint64_t part_ns = half_ns / (is_before ? nr_before : nr_after);

		looks[at + nr_before - i].sample->cpu_ns += part_ns;
		left_ns -= part_ns;
	}
	looks[at].sample->cpu_ns += left_ns; /* no sample before it: it keeps the time */
}

/* The sample's CPU time is now the sum of the shares it gets. */
static void add_look(struct window *window, struct sample *sample)
{
	for (size_t i = ARRAY_SIZE(window->looks) - 1; i > 0; i--)
		window->looks[i] = window->looks[i - 1];
	window->looks[0] = (struct look){.sample = sample, .cpu_ns = sample->cpu_ns};
	if (window->nr < ARRAY_SIZE(window->looks))
		window->nr++;
	sample->cpu_ns = 0;
}

void spread_cpu_time(struct sample *samples, size_t nr_samples, size_t nr_threads,
		     uint64_t reach_ns)
{
	cleanup_free struct window *windows = xcalloc(nr_threads, sizeof(*windows));

	_Static_assert(LOOKS_AFTER == 2, "a gap is shared when one more sample is known");
	for (size_t i = 0; i < nr_samples; i++) {
		struct sample *sample = &samples[i];
		struct window *window = &windows[sample->thread.v];

		/* Samples with CPU time: those of running threads, not their continuations. */
		if (sample->kind != SAMPLE_RUNNING || !sample->cpu_ns || !sample->nr)
			continue;
		add_look(window, sample);
		if (window->nr > 1)
			share_gap(window, 1, reach_ns);
	}
	for (size_t i = 0; i < nr_threads; i++)
		if (windows[i].nr)
			share_gap(&windows[i], 0, reach_ns);
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
