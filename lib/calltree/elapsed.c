// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/elapsed.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/due_queue.h"
#include "base/minmax.h"
#include "calltree/tally.h"
#include "profile/courses.h"
#include "profile/timelines.h"

/* Longer times are several parts, so that views by time show when they passed. */
#define SPAN_NS	     NS_PER_SEC
#define NR_SPANS_MAX 10000
/* Where the number of CPUs is not known, and of any machine. */
#define PARALLELISM_DEFAULT 64
#define PARALLELISM_MAX	    4096
/* A smaller part of an instant is a rounding error. */
#define TINY 1e-6
/* A gap that has less of its time in an unknown order is taken as certain. */
#define SURE 0.005F

/* Integrals over time, from the begin of the sweep on; snapshots of them are differences later. */
enum integral {
	OF_UNSURE,	/* how many threads' order is unknown */
	OF_MANY_UNSURE, /* the same where these are several */
	OF_RUNNABLE,	/* elapsed time for each thread that waits for a CPU, none having one */
	OF_RUNNING,	/* the same for each that runs, by their number, which is added */
};

/* A thread, and where in its course the sweep is. */
struct runner {
	struct due due;
	size_t first, next, end; /* of courses.rows; `next` is the current one while it is_in */
	bool is_in;
	uint64_t begin_ns; /* of the time since the last part */
	double *before;	   /* integrals when its stretch began; owned, NULL until it is needed */
	double *sums;	   /* since the last part, by integral; behind `before` */
	double unsure_ns;  /* of that time */
	double run_ns;	   /* likewise */
};

struct sweep {
	const struct profile *profile;
	const struct courses *courses;
	struct elapsed *elapsed;
	struct due_queue queue;
	struct runner *runners; /* by thread */
	double *integrals;
	size_t nr_integrals, nr_used; /* those before are not 0 */
	uint64_t from_ns, to_ns, now_ns, span_max_ns;
	size_t nr_running, nr_unsure;
	double running, runnable, unsure; /* sums over threads */
	struct runner *last_ran;	  /* may be NULL */
	uint64_t idle_from_ns;
	double idle_unsure; /* OF_UNSURE at that moment */
	double carry;
	uint64_t done_ns; /* of all parts */
	size_t first_part;
};

static const struct stretch *stretch_of(const struct sweep *sweep, const struct runner *runner)
{
	return &sweep->courses->rows[runner->next];
}

/* --- parts --- */

static void add_part(struct sweep *sweep, const struct elapsed_part *part)
{
	struct elapsed *elapsed = sweep->elapsed;

	if (!part->ns)
		return;
	ARRAY_GROW(elapsed->parts, elapsed->nr, elapsed->cap);
	elapsed->parts[elapsed->nr++] = *part;
	elapsed->sample_ns[part->sample] += part->ns;
	sweep->done_ns += part->ns;
}

/* A whole time of one sample, during which nothing runs. */
static void add_idle(struct sweep *sweep, uint64_t begin_ns, uint64_t end_ns, uint32_t sample,
		     enum elapsed_state state)
{
	uint64_t idle_ns = sweep->now_ns - sweep->idle_from_ns;
	double unsure_ns = sweep->integrals[OF_UNSURE] - sweep->idle_unsure;
	double slack = idle_ns ? fmin(1, unsure_ns / (double)idle_ns) : 0;

	while (begin_ns < end_ns) {
		uint64_t ns = min_u64(end_ns - begin_ns, sweep->span_max_ns);

		begin_ns += ns;
		add_part(sweep, &(struct elapsed_part){.end_ns = begin_ns,
						       .span_ns = ns,
						       .ns = ns,
						       .sample = sample,
						       .slack_ns = (float)(slack * (double)ns),
						       .state = (uint8_t)state});
	}
}

/* An estimate, of which the fraction is carried to the next one. */
static void add_share(struct sweep *sweep, struct elapsed_part *part, double ns)
{
	double sum = sweep->carry + ns, whole = floor(sum);

	sweep->carry = sum - whole;
	part->ns = (uint64_t)whole;
	add_part(sweep, part);
}

static double slack_of(const struct runner *runner)
{
	double others = fmax(runner->sums[OF_UNSURE] - runner->unsure_ns, 0);
	/* It may run with others, or without them: then it has twice as much. */
	double own = fmin(runner->unsure_ns, others) / 2;
	/* Times of others are at once, or not: with seven of them it is a part of 1/22. */
	double crowd = fmin(runner->sums[OF_MANY_UNSURE] / 12, runner->run_ns / 4);

	return fmin(own + crowd, runner->run_ns);
}

/* All that a thread has of the elapsed time since the last part of its own. */
static void add_run(struct sweep *sweep, struct runner *runner, uint32_t sample, uint64_t end_ns)
{
	uint64_t span_ns = end_ns - runner->begin_ns;
	uint64_t nr_spans = span_ns / sweep->span_max_ns + 1;
	double slack = 0;

	for (size_t k = OF_RUNNABLE; k < sweep->nr_used; k++)
		slack += runner->sums[k];
	slack = slack_of(runner) / fmax(slack, 1);
	for (uint64_t i = 1; i <= nr_spans; i++) {
		struct elapsed_part part = {.end_ns = runner->begin_ns + span_ns / nr_spans * i,
					    .span_ns = span_ns / nr_spans,
					    .sample = sample};

		if (i == nr_spans)
			part.end_ns = end_ns;
		for (size_t k = OF_RUNNABLE; k < sweep->nr_used; k++) {
			double ns = runner->sums[k] / (double)nr_spans;

			if (ns <= 0)
				continue;
			part.state = k == OF_RUNNABLE ? ELAPSED_RUNNABLE : ELAPSED_RUNNING;
			part.parallelism = k == OF_RUNNABLE ? 0 : (uint16_t)(k - OF_RUNNING);
			part.slack_ns = (float)(slack * ns);
			add_share(sweep, &part, ns);
		}
	}
}

/* --- where nothing runs --- */

static bool sleeps(const struct stretch *stretch)
{
	return stretch->on_cpu <= 0;
}

/* The first stretch of a sleep that goes on until stretch number `at` and began while idle. */
static size_t find_sleep(const struct sweep *sweep, const struct runner *runner, size_t at)
{
	const struct stretch *rows = sweep->courses->rows;

	while (at > runner->first && sleeps(&rows[at - 1]) &&
	       rows[at - 1].end_ns > sweep->idle_from_ns &&
	       (at == runner->end || rows[at - 1].end_ns == rows[at].begin_ns))
		at--;
	return at;
}

/* Give the time from … to of a sleep to its samples. Returns the moment from which it did not. */
static uint64_t add_sleep(struct sweep *sweep, const struct runner *runner, size_t at,
			  uint64_t from_ns, uint64_t to_ns)
{
	for (; at < runner->end && from_ns < to_ns; at++) {
		const struct stretch *row = &sweep->courses->rows[at];
		uint64_t end_ns = min_u64(row->end_ns, to_ns);

		if (!sleeps(row) || row->begin_ns > from_ns)
			break;
		if (end_ns <= from_ns)
			continue;
		add_idle(sweep, from_ns, end_ns, row->sample, ELAPSED_WAITING);
		from_ns = end_ns;
	}
	return from_ns;
}

static const struct stretch *any_stretch(const struct sweep *sweep, const struct runner *next)
{
	if (next)
		return stretch_of(sweep, next);
	if (sweep->last_ran)
		return &sweep->courses
				->rows[min_u64(sweep->last_ran->next, sweep->last_ran->end - 1)];
	return NULL;
}

/* The stretch of a thread at a moment; runner->end: it has none. */
static size_t find_stretch(const struct sweep *sweep, const struct runner *runner, uint64_t time_ns)
{
	const struct stretch *rows = sweep->courses->rows;
	size_t from = runner->first, to = runner->end;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (rows[middle].end_ns <= time_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from < runner->end && rows[from].begin_ns <= time_ns ? from : runner->end;
}

/* The thread that sleeps for longest, among those that sleep at a moment. */
static const struct runner *find_sleeper(const struct sweep *sweep, uint64_t time_ns, size_t *at)
{
	const struct stretch *rows = sweep->courses->rows;
	const struct runner *best = NULL;
	uint64_t best_ns = time_ns;

	for (size_t i = 0; i < sweep->profile->nr_threads; i++) {
		const struct runner *runner = &sweep->runners[i];
		size_t found = find_stretch(sweep, runner, time_ns);

		if (found == runner->end || !sleeps(&rows[found]) || rows[found].end_ns <= best_ns)
			continue;
		best = runner;
		best_ns = rows[found].end_ns;
		*at = found;
	}
	return best;
}

/*
 * Neither the thread that ran last nor the one that runs next was there: to others that slept. What
 * is left has no thread.
 */
static void add_rest(struct sweep *sweep, const struct runner *next, uint64_t from_ns,
		     uint64_t to_ns)
{
	const struct stretch *stretch = any_stretch(sweep, next);
	const struct runner *sleeper;
	size_t at = 0;

	while (from_ns < to_ns && (sleeper = find_sleeper(sweep, from_ns, &at)))
		from_ns = add_sleep(sweep, sleeper, at, from_ns, to_ns);
	if (from_ns < to_ns && sweep->profile->nr_samples)
		add_idle(sweep, from_ns, to_ns, stretch ? stretch->sample : 0, ELAPSED_UNKNOWN);
}

/* Nothing has run since idle_from_ns. `next` runs from now on; NULL: it is the end. */
static void end_idle(struct sweep *sweep, const struct runner *next)
{
	const struct runner *last = sweep->last_ran;
	uint64_t from_ns = sweep->idle_from_ns, to_ns = sweep->now_ns, covered_ns = to_ns;
	size_t at = next ? find_sleep(sweep, next, next->next) : 0;

	if (from_ns >= to_ns)
		return;
	if (next && at < next->next)
		covered_ns = max_u64(from_ns, sweep->courses->rows[at].begin_ns);
	if (last)
		from_ns = add_sleep(sweep, last, find_sleep(sweep, last, last->next), from_ns,
				    covered_ns);
	add_rest(sweep, next, from_ns, covered_ns);
	if (next)
		add_sleep(sweep, next, at, covered_ns, to_ns);
}

/* --- the sweep --- */

static void integrate_running(struct sweep *sweep, double ns)
{
	size_t most = sweep->nr_integrals - OF_RUNNING - 1, whole;
	double running = sweep->running, part;

	if (running < 1) {
		sweep->integrals[OF_RUNNING + 1] += ns;
		sweep->nr_used = (size_t)max_u64(sweep->nr_used, OF_RUNNING + 2);
		if (sweep->runnable > TINY)
			sweep->integrals[OF_RUNNABLE] += ns * (1 - running) / sweep->runnable;
		return;
	}
	whole = (size_t)fmin(floor(running + TINY), (double)most);
	part = whole < most ? fmax(running - (double)whole, 0) : 0;
	if (part < TINY)
		part = 0;
	sweep->integrals[OF_RUNNING + whole] += ns * (1 - part) / running;
	if (part > 0)
		sweep->integrals[OF_RUNNING + whole + 1] += ns * part / running;
	sweep->nr_used = (size_t)max_u64(sweep->nr_used, OF_RUNNING + whole + 1 + (part > 0));
}

static void advance(struct sweep *sweep, uint64_t now_ns)
{
	double ns = (double)(now_ns - sweep->now_ns);

	sweep->now_ns = now_ns;
	if (ns <= 0)
		return;
	sweep->integrals[OF_UNSURE] += ns * sweep->unsure;
	if (sweep->nr_unsure > 2)
		sweep->integrals[OF_MANY_UNSURE] += ns * sweep->unsure;
	if (sweep->nr_running)
		integrate_running(sweep, ns);
}

static float unsure_of(const struct stretch *stretch)
{
	return stretch->unsure > SURE ? stretch->unsure : 0;
}

static bool matters(const struct stretch *stretch)
{
	return !sleeps(stretch) || unsure_of(stretch) > 0;
}

static uint64_t begin_of(const struct sweep *sweep, const struct stretch *stretch)
{
	return max_u64(stretch->begin_ns, sweep->from_ns);
}

/* Have a thread come again when its next stretch begins, if any does in the time range. */
static void wait_for_begin(struct sweep *sweep, struct runner *runner)
{
	while (runner->next < runner->end) {
		const struct stretch *stretch = stretch_of(sweep, runner);

		if (stretch->begin_ns >= sweep->to_ns)
			return;
		if (stretch->end_ns > sweep->from_ns && matters(stretch)) {
			due_queue_put(&sweep->queue, &runner->due, begin_of(sweep, stretch));
			return;
		}
		runner->next++;
	}
}

static void start_run(struct sweep *sweep, struct runner *runner)
{
	const struct stretch *stretch = stretch_of(sweep, runner);

	if (!sweep->nr_running)
		end_idle(sweep, runner);
	sweep->nr_running++;
	sweep->running += stretch->on_cpu;
	sweep->runnable += 1 - stretch->on_cpu;
}

static void keep_integrals(const struct sweep *sweep, struct runner *runner)
{
	if (!runner->before) {
		runner->before = xcalloc(2 * sweep->nr_integrals, sizeof(double));
		runner->sums = runner->before + sweep->nr_integrals;
	}
	for (size_t k = 0; k < sweep->nr_used; k++)
		runner->before[k] = sweep->integrals[k];
	for (size_t k = sweep->nr_used; k < sweep->nr_integrals; k++)
		runner->before[k] = 0;
}

static void begin(struct sweep *sweep, struct runner *runner)
{
	const struct stretch *stretch = stretch_of(sweep, runner);

	runner->is_in = true;
	if (!sleeps(stretch))
		start_run(sweep, runner);
	keep_integrals(sweep, runner);
	sweep->unsure += unsure_of(stretch);
	sweep->nr_unsure += unsure_of(stretch) > 0;
	due_queue_put(&sweep->queue, &runner->due, min_u64(stretch->end_ns, sweep->to_ns));
}

/* Does the thread go on in the same sample, so that both are one part? */
static bool goes_on(const struct sweep *sweep, const struct runner *runner)
{
	const struct stretch *stretch = stretch_of(sweep, runner);

	return runner->next + 1 < runner->end && !sleeps(stretch + 1) &&
	       stretch[1].begin_ns == stretch->end_ns && stretch[1].sample == stretch->sample &&
	       stretch[1].begin_ns < sweep->to_ns;
}

/* Unsure time of a sleep belongs to the next time that the thread runs. */
static void sum_stretch(struct sweep *sweep, struct runner *runner)
{
	const struct stretch *stretch = stretch_of(sweep, runner);
	double on_cpu = stretch->on_cpu;
	double ns = (double)(sweep->now_ns - begin_of(sweep, stretch));

	runner->unsure_ns += ns * unsure_of(stretch);
	for (size_t k = 0; k < OF_RUNNABLE; k++)
		runner->sums[k] += sweep->integrals[k] - runner->before[k];
	if (sleeps(stretch))
		return;
	if (runner->run_ns <= 0)
		runner->begin_ns = begin_of(sweep, stretch);
	runner->run_ns += ns;
	for (size_t k = OF_RUNNABLE; k < sweep->nr_used; k++)
		runner->sums[k] += (sweep->integrals[k] - runner->before[k]) *
				   (k == OF_RUNNABLE ? 1 - on_cpu : on_cpu);
}

static void end_run(struct sweep *sweep, struct runner *runner)
{
	const struct stretch *stretch = stretch_of(sweep, runner);

	if (!goes_on(sweep, runner)) {
		add_run(sweep, runner, stretch->sample, sweep->now_ns);
		for (size_t k = 0; k < sweep->nr_integrals; k++)
			runner->sums[k] = 0;
		runner->run_ns = runner->unsure_ns = 0;
	}
	sweep->running -= stretch->on_cpu;
	sweep->runnable -= 1 - stretch->on_cpu;
	if (--sweep->nr_running)
		return;
	sweep->running = sweep->runnable = 0;
	sweep->idle_from_ns = sweep->now_ns;
	sweep->idle_unsure = sweep->integrals[OF_UNSURE];
}

static void end(struct sweep *sweep, struct runner *runner)
{
	const struct stretch *stretch = stretch_of(sweep, runner);

	runner->is_in = false;
	sum_stretch(sweep, runner);
	if (!sleeps(stretch))
		end_run(sweep, runner);
	sweep->unsure = fmax(sweep->unsure - unsure_of(stretch), 0);
	sweep->nr_unsure -= unsure_of(stretch) > 0;
	runner->next++;
	if (!sleeps(stretch))
		sweep->last_ran = runner;
	wait_for_begin(sweep, runner);
}

static void take_threads(struct sweep *sweep, const struct timelines *timelines, uint32_t run)
{
	const struct profile *profile = sweep->profile;

	for (size_t i = 0; i < profile->nr_threads; i++) {
		struct runner *runner = &sweep->runners[i];

		*runner = (struct runner){.due = {.of = runner}};
		if (timelines->of_process[profile->threads[i].process] != run)
			continue;
		runner->first = runner->next = sweep->courses->firsts[i];
		runner->end = sweep->courses->firsts[i + 1];
		wait_for_begin(sweep, runner);
	}
}

/* Sums of fractions have errors: the largest part gets what is missing, or too much. */
static void settle(struct sweep *sweep)
{
	struct elapsed *elapsed = sweep->elapsed;
	uint64_t all_ns = sweep->to_ns - sweep->from_ns;
	size_t largest = sweep->first_part;

	if (sweep->first_part == elapsed->nr)
		return;
	for (size_t i = sweep->first_part; i < elapsed->nr; i++)
		if (elapsed->parts[i].ns > elapsed->parts[largest].ns)
			largest = i;
	elapsed->parts[largest].ns += all_ns - sweep->done_ns;
	elapsed->sample_ns[elapsed->parts[largest].sample] += all_ns - sweep->done_ns;
}

static void sweep_run(struct sweep *sweep, const struct timelines *timelines, uint32_t run)
{
	struct runner *runner;

	sweep->now_ns = sweep->idle_from_ns = sweep->from_ns;
	sweep->first_part = sweep->elapsed->nr;
	sweep->nr_used = OF_RUNNING + 1;
	take_threads(sweep, timelines, run);
	while ((runner = due_queue_take(&sweep->queue, UINT64_MAX))) {
		advance(sweep, runner->due.due_ns);
		if (runner->is_in)
			end(sweep, runner);
		else
			begin(sweep, runner);
	}
	advance(sweep, sweep->to_ns);
	end_idle(sweep, NULL);
	settle(sweep);
	for (size_t i = 0; i < sweep->profile->nr_threads; i++)
		free(sweep->runners[i].before);
}

struct elapsed *elapsed_new(const struct profile *profile, const struct timelines *timelines,
			    const struct timeline *ranges)
{
	struct elapsed *elapsed = xcalloc(1, sizeof(*elapsed));
	struct courses *courses = courses_new(profile);
	size_t nr_cpus = profile->meta.nr_cpus ? min_u64(profile->meta.nr_cpus, PARALLELISM_MAX)
					       : PARALLELISM_DEFAULT;
	struct sweep first = {.profile = profile,
			      .courses = courses,
			      .elapsed = elapsed,
			      .runners = xcalloc(profile->nr_threads, sizeof(struct runner)),
			      .nr_integrals = OF_RUNNING + 1 + nr_cpus};

	elapsed->sample_ns = xcalloc(profile->nr_samples + 1, sizeof(*elapsed->sample_ns));
	elapsed->unplaced_ns = courses->unplaced_ns;
	first.integrals = xcalloc(first.nr_integrals, sizeof(*first.integrals));
	for (uint32_t run = 0; run < timelines->nr; run++) {
		struct sweep sweep = first;

		for (size_t k = 0; k < sweep.nr_integrals; k++)
			sweep.integrals[k] = 0;
		sweep.from_ns = ranges[run].begin_ns;
		sweep.to_ns = ranges[run].end_ns;
		sweep.span_max_ns = max_u64(SPAN_NS, (sweep.to_ns - sweep.from_ns) / NR_SPANS_MAX);
		if (sweep.from_ns < sweep.to_ns && profile_total(profile, METRIC_ELAPSED))
			sweep_run(&sweep, timelines, run);
		due_queue_release(&sweep.queue);
	}
	free(first.integrals);
	free(first.runners);
	courses_free(courses);
	return elapsed;
}

void elapsed_free(struct elapsed *elapsed)
{
	if (!elapsed)
		return;
	free(elapsed->parts);
	free(elapsed->sample_ns);
	free(elapsed);
}

void elapsed_observe(const struct elapsed *elapsed, const struct profile *profile, size_t part,
		     struct observation *observation)
{
	const struct elapsed_part *row = &elapsed->parts[part];
	struct sample *sample = &observation->sample;
	double stands_ns = (double)elapsed->sample_ns[row->sample];

	*observation = (struct observation){.sample = profile->samples[row->sample],
					    .weight = row->ns,
					    .slack = row->slack_ns,
					    .parallelism = row->parallelism,
					    .begin_ns = row->end_ns - row->span_ns};
	/* Sleep of a thread that was never seen asleep has no stack. */
	if (row->state == ELAPSED_UNKNOWN ||
	    (row->state == ELAPSED_WAITING && sample->kind == SAMPLE_RUNNING)) {
		sample->kind = SAMPLE_UNATTRIBUTED;
		sample->stack = STACK_EMPTY;
		sample->kernel = STACK_EMPTY;
		sample->end = STACK_END_NOT_TAKEN;
		sample->syscall_nr = -1;
		sample->wait = 0;
		sample->labels = 0;
		sample->nr = 0;
	}
	sample->time_ns = row->end_ns;
	sample->cpu_ns = row->state == ELAPSED_RUNNING ? row->ns : 0;
	sample->runq_ns = row->state == ELAPSED_RUNNABLE ? row->ns : 0;
	sample->blocked_ns = row->state >= ELAPSED_WAITING ? row->ns : 0;
	if (sample->kind == SAMPLE_BLOCKED && !sample->nr)
		observation->known = row->ns;
	else if (sample->kind != SAMPLE_UNATTRIBUTED)
		observation->square = (double)row->ns * stands_ns / fmax(sample->nr, 1);
}
