// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/courses.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "profile/profile.h"

#define NO_SAMPLE UINT32_MAX

/*
 * Between two samples of a running thread a rest that is shorter, or that is less than this part of
 * the gap, is the time for which profc itself held the thread: it did not sleep.
 */
#define HELD_NS	  UINT64_C(50000)
#define HELD_PART 100

/* The time between two samples of a thread. */
struct gap {
	uint64_t begin_ns, end_ns;
	uint32_t sample; /* that ends it */
	bool awake;	 /* at that moment */
	bool is_known;	 /* it slept all the time */
	uint64_t run_ns; /* of it, on a CPU or waiting for one */
	uint64_t most_ns;
};

/* A thread while its course is made. */
struct maker {
	const struct profile *profile;
	struct courses *courses;
	/* Since its last sample with CPU time: these, which that at the end divides. */
	struct gap *gaps;
	size_t nr_gaps, cap_gaps;
	uint64_t cpu_ns, runq_ns; /* of samples that only waited for a CPU */
	/* Sleep that was placed already: the next samples of sleepers have its time. */
	uint64_t owed_ns;
	uint64_t now_ns;
	bool awake;		   /* at that moment */
	bool was_cut;		   /* before, time may have passed that was not recorded */
	uint32_t last, last_sleep; /* samples; NO_SAMPLE: none */
	/* Its first stretch, in courses.rows. */
	size_t first_row;
};

static uint64_t length_of(const struct gap *gap)
{
	return gap->end_ns - gap->begin_ns;
}

static void add(struct maker *maker, const struct stretch *stretch)
{
	struct courses *courses = maker->courses;
	struct stretch *last =
		courses->nr > maker->first_row ? &courses->rows[courses->nr - 1] : NULL;

	if (stretch->end_ns <= stretch->begin_ns)
		return;
	if (last && last->end_ns == stretch->begin_ns && last->sample == stretch->sample &&
	    last->on_cpu == stretch->on_cpu && last->unsure == stretch->unsure) {
		last->end_ns = stretch->end_ns;
		return;
	}
	ARRAY_GROW(courses->rows, courses->nr, courses->cap);
	courses->rows[courses->nr++] = *stretch;
}

/* It sleeps until then: in the sleep that was seen last, or in the one that is seen next. */
static void add_sleep(struct maker *maker, uint64_t until_ns, uint32_t sample, float unsure)
{
	add(maker, &(struct stretch){.begin_ns = maker->now_ns,
				     .end_ns = until_ns,
				     .sample = sample,
				     .unsure = unsure});
	maker->now_ns = until_ns;
}

static void add_run(struct maker *maker, uint64_t until_ns, uint32_t sample, float on_cpu,
		    float unsure)
{
	add(maker, &(struct stretch){.begin_ns = maker->now_ns,
				     .end_ns = until_ns,
				     .sample = sample,
				     .on_cpu = on_cpu,
				     .unsure = unsure});
	maker->now_ns = until_ns;
}

static bool was_seen(const struct maker *maker, uint32_t sample)
{
	return sample != NO_SAMPLE && maker->profile->samples[sample].kind == SAMPLE_RUNNING;
}

/*
 * Lay out a gap. `runs` is the sample that ended the row of gaps: it ran, or has the CPU time that
 * no other sample has.
 */
static void lay_out(struct maker *maker, const struct gap *gap, uint32_t runs, float on_cpu)
{
	uint64_t length_ns = length_of(gap), run_ns = gap->run_ns, sleep_ns = length_ns - run_ns;
	double share = length_ns ? (double)run_ns / (double)length_ns : 0;
	float unsure = (float)(share < 0.5 ? share : 1 - share);
	uint32_t before = was_seen(maker, maker->last) ? maker->last : runs;

	maker->now_ns = gap->begin_ns;
	if (maker->awake && gap->awake) {
		add_run(maker, gap->begin_ns + run_ns / 2, before, on_cpu, unsure);
		add_sleep(maker, maker->now_ns + sleep_ns, NO_SAMPLE, unsure);
		add_run(maker, gap->end_ns, runs, on_cpu, unsure);
	} else if (maker->awake) {
		add_run(maker, gap->begin_ns + run_ns, before, on_cpu, unsure);
		add_sleep(maker, gap->end_ns, gap->sample, unsure);
	} else if (gap->awake) {
		add_sleep(maker, gap->begin_ns + sleep_ns, maker->last_sleep, unsure);
		add_run(maker, gap->end_ns, runs, on_cpu, unsure);
	} else {
		/* Without a run it is all of one sleep. */
		add_sleep(maker, gap->begin_ns + (run_ns ? sleep_ns / 2 : 0), maker->last_sleep,
			  unsure);
		add_run(maker, maker->now_ns + run_ns, runs, on_cpu, unsure);
		add_sleep(maker, gap->end_ns, gap->sample, unsure);
	}
	maker->awake = gap->awake;
	maker->last = gap->sample;
	if (!gap->awake)
		maker->last_sleep = gap->sample;
}

static void raise(struct gap *gap, uint64_t *rest_ns)
{
	uint64_t part_ns = min_u64(*rest_ns, gap->most_ns - gap->run_ns);

	gap->run_ns += part_ns;
	*rest_ns -= part_ns;
}

/* Divide the time that the thread did not sleep among the gaps, of which the last one is open. */
static void divide(struct maker *maker, uint64_t total_ns)
{
	struct gap *gaps = maker->gaps, *last = &gaps[maker->nr_gaps - 1];
	uint64_t sum_ns = 0, rest_ns;

	for (size_t i = 0; i + 1 < maker->nr_gaps; i++)
		sum_ns += gaps[i].run_ns;
	for (size_t i = 0; sum_ns > total_ns && i + 1 < maker->nr_gaps; i++)
		gaps[i].run_ns =
			(uint64_t)((double)gaps[i].run_ns * (double)total_ns / (double)sum_ns);
	rest_ns = total_ns - min_u64(sum_ns, total_ns);
	raise(last, &rest_ns);
	for (size_t i = 0; i < maker->nr_gaps; i++)
		if (gaps[i].awake)
			raise(&gaps[i], &rest_ns);
	for (size_t i = 0; i < maker->nr_gaps; i++)
		raise(&gaps[i], &rest_ns);
	/* Moments are rounded: less than that is not missing. */
	if (rest_ns > maker->nr_gaps * SAMPLE_TIME_GRAIN_NS)
		maker->courses->unplaced_ns += rest_ns;
}

/* A short rest between two samples that ran. */
static void see_held(struct gap *gap, bool awake)
{
	uint64_t rest_ns = length_of(gap) - gap->run_ns;

	if (awake && gap->awake && gap->run_ns &&
	    (rest_ns <= HELD_NS || rest_ns <= length_of(gap) / HELD_PART))
		gap->run_ns = length_of(gap);
}

/* The last gap ends with a sample that has the CPU time of all. */
static void finish_gaps(struct maker *maker, bool is_end)
{
	uint64_t total_ns = maker->cpu_ns + maker->runq_ns;
	float on_cpu = total_ns ? (float)((double)maker->cpu_ns / (double)total_ns) : 1;
	uint32_t runs = maker->gaps[maker->nr_gaps - 1].sample;
	bool awake = maker->awake;

	/* A thread that only waited for a CPU does not sleep. */
	if (on_cpu <= 0)
		on_cpu = 1e-6F;
	maker->gaps[maker->nr_gaps - 1].run_ns = 0;
	divide(maker, total_ns);
	for (size_t i = 0; i < maker->nr_gaps; i++) {
		struct gap *gap = &maker->gaps[i];

		/* The end of a thread, or of a recording: it goes on as before, then changes. */
		if (is_end && i + 1 == maker->nr_gaps)
			gap->awake = !awake && gap->run_ns;
		see_held(gap, awake);
		if (gap->awake)
			maker->owed_ns += length_of(gap) - gap->run_ns;
		awake = gap->awake;
		lay_out(maker, gap, runs, on_cpu);
	}
	maker->nr_gaps = 0;
	maker->cpu_ns = maker->runq_ns = 0;
}

/* Sleep that was placed before comes with the next sample of a sleeper. */
static void see_sleep(struct maker *maker, struct gap *gap, const struct sample *sample)
{
	uint64_t early_ns = min_u64(maker->owed_ns, sample->blocked_ns);
	uint64_t slept_ns = sample->blocked_ns - early_ns;

	maker->owed_ns -= early_ns;
	gap->is_known = !sample->nr && slept_ns + SAMPLE_TIME_GRAIN_NS >= length_of(gap);
	gap->run_ns = length_of(gap) - min_u64(slept_ns, length_of(gap));
	if (gap->run_ns <= SAMPLE_TIME_GRAIN_NS)
		gap->run_ns = 0;
	gap->most_ns = gap->is_known ? gap->run_ns : length_of(gap);
}

/* After a pause of the recording only the time that the sample has is of the thread. */
static void see_pause(struct maker *maker, struct gap *gap, const struct sample *sample)
{
	uint64_t own_ns = sample->recorded_cpu_ns + sample->runq_ns + sample->blocked_ns;

	if (maker->was_cut && own_ns < length_of(gap))
		gap->begin_ns = gap->end_ns - own_ns;
	maker->was_cut = false;
}

static void see_sample(struct maker *maker, uint32_t index)
{
	const struct sample *sample = &maker->profile->samples[index];
	uint64_t begin_ns = maker->nr_gaps ? maker->gaps[maker->nr_gaps - 1].end_ns : maker->now_ns;
	struct gap gap = {.begin_ns = min_u64(begin_ns, sample->time_ns),
			  .end_ns = sample->time_ns,
			  .sample = index,
			  .awake = sample->kind == SAMPLE_RUNNING};
	bool is_end = sample->kind == SAMPLE_UNATTRIBUTED;

	if (gap.begin_ns < begin_ns)
		gap.begin_ns = gap.end_ns = begin_ns;
	see_pause(maker, &gap, sample);
	gap.most_ns = length_of(&gap);
	if (sample->kind == SAMPLE_BLOCKED)
		see_sleep(maker, &gap, sample);
	else if (!sample->recorded_cpu_ns && !is_end)
		gap.run_ns = min_u64(sample->runq_ns, length_of(&gap));
	maker->cpu_ns += sample->recorded_cpu_ns;
	maker->runq_ns += sample->runq_ns;
	ARRAY_GROW(maker->gaps, maker->nr_gaps, maker->cap_gaps);
	maker->gaps[maker->nr_gaps++] = gap;
	if (!is_end && (sample->kind == SAMPLE_BLOCKED || !sample->recorded_cpu_ns))
		return;
	finish_gaps(maker, is_end);
	maker->was_cut = is_end;
}

/* Sleep of which no sample was seen before is that of the next one, or of the last sample. */
static void name_sleeps(struct maker *maker)
{
	struct courses *courses = maker->courses;
	uint32_t next = NO_SAMPLE;

	for (size_t i = courses->nr; i-- > maker->first_row;) {
		struct stretch *row = &courses->rows[i];

		if (row->on_cpu > 0)
			continue;
		if (row->sample == NO_SAMPLE)
			row->sample = next != NO_SAMPLE		       ? next
				      : maker->last_sleep != NO_SAMPLE ? maker->last_sleep
								       : maker->last;
		else
			next = row->sample;
	}
}

/* Rows without any time, and time that was added to rows of other threads, say nothing. */
static bool has_course(const struct sample *sample)
{
	return sample->nr || sample->recorded_cpu_ns || sample->runq_ns || sample->blocked_ns;
}

static void make_course(struct maker *maker, uint32_t thread, const uint32_t *samples, size_t nr)
{
	const struct profile_thread *row = &maker->profile->threads[thread];

	maker->first_row = maker->courses->nr;
	maker->now_ns = row->start_ns;
	maker->awake = true;
	maker->was_cut = false;
	maker->last = maker->last_sleep = NO_SAMPLE;
	maker->owed_ns = maker->cpu_ns = maker->runq_ns = 0;
	for (size_t i = 0; i < nr; i++) {
		const struct sample *sample = &maker->profile->samples[samples[i]];

		if (!row->tid)
			maker->courses->unplaced_ns += sample->recorded_cpu_ns;
		else if (has_course(sample))
			see_sample(maker, samples[i]);
	}
	if (maker->nr_gaps)
		finish_gaps(maker, false);
	name_sleeps(maker);
}

/* The numbers of the samples, thread by thread; `at` gets where each thread begins. */
static uint32_t *samples_by_thread(const struct profile *profile, size_t *at)
{
	uint32_t *list = xmalloc((profile->nr_samples + 1) * sizeof(*list));

	for (size_t i = 0; i < profile->nr_samples; i++)
		at[profile->samples[i].thread.v + 2]++;
	for (size_t i = 2; i < profile->nr_threads + 2; i++)
		at[i] += at[i - 1];
	for (size_t i = 0; i < profile->nr_samples; i++)
		list[at[profile->samples[i].thread.v + 1]++] = (uint32_t)i;
	return list;
}

struct courses *courses_new(const struct profile *profile)
{
	struct courses *courses = xcalloc(1, sizeof(*courses));
	struct maker maker = {.profile = profile, .courses = courses};
	cleanup_free size_t *at = xcalloc(profile->nr_threads + 2, sizeof(*at));
	cleanup_free uint32_t *samples = samples_by_thread(profile, at);

	courses->firsts = xcalloc(profile->nr_threads + 1, sizeof(*courses->firsts));
	for (uint32_t i = 0; i < profile->nr_threads; i++) {
		courses->firsts[i] = courses->nr;
		make_course(&maker, i, &samples[at[i]], at[i + 1] - at[i]);
	}
	courses->firsts[profile->nr_threads] = courses->nr;
	free(maker.gaps);
	return courses;
}

void courses_free(struct courses *courses)
{
	if (!courses)
		return;
	free(courses->rows);
	free(courses->firsts);
	free(courses);
}
