// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A model of recordings with known shares, always the same one: do intervals of 95% hold the truth
 * as often as they say, and are they no wider than that needs? `make check-intervals` asks the same
 * of real programs.
 */
#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "collector/message.h"
#include "collector/samples.h"
#include "overhead/schedule.h"
#include "profile/profile.h"
#include "profile/short_lives.h"
#include "profile/spread.h"
#include "snapshot/snapshot.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"

#define NR_RUNS 400

static double next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(*state >> 33) + 0.5) * 0x1p-31;
}

/* Estimates of one number by many recordings. */
struct series {
	const char *name;
	double truth;
	unsigned int nr, nr_inside;
	double sum, squares, halves;
};

static void series_add(struct series *series, double truth, double estimate, double half)
{
	series->truth = truth;
	series->nr++;
	series->nr_inside += fabs(estimate - truth) <= half;
	series->sum += estimate - truth;
	series->squares += (estimate - truth) * (estimate - truth);
	series->halves += half;
}

static double half_of_spread(const struct series *series)
{
	double mean = series->sum / series->nr;

	return 1.96 * sqrt(fmax(series->squares / series->nr - mean * mean, 0));
}

/*
 * Numbers that hardly depend on what was met, such as those of blocks that cannot be missed. Their
 * intervals are for what has not happened in these recordings.
 */
static bool is_certain(const struct series *series)
{
	return half_of_spread(series) < series->truth / 10000;
}

/* How wide intervals are beside those that the spread of the estimates asks for. */
static double series_width(const struct series *series)
{
	return series->halves / series->nr / half_of_spread(series);
}

/* Of all intervals, in thousandths. */
#define MOST_INSIDE 970

/* In each series 95% are inside, but for four standard deviations of chance. */
static void check_series(const struct series *series, size_t nr_series, unsigned int most_inside)
{
	unsigned int nr = 0, nr_inside = 0, nr_wrong = 0;

	for (size_t i = 0; i < nr_series; i++) {
		const struct series *one = &series[i];
		double width = series_width(one);
		bool is_wrong;

		if (is_certain(one)) {
			printf("%-28s %u of %u inside, certain\n", one->name, one->nr_inside,
			       one->nr);
			/* Two blocks may lack of what is all of a known total but for none. */
			nr_wrong += one->nr_inside < one->nr ||
				    one->halves / one->nr > one->truth / 100;
			continue;
		}
		is_wrong =
			one->nr_inside < 0.95 * one->nr - 4 * sqrt(0.0475 * one->nr) || width > 1.5;

		nr += one->nr;
		nr_inside += one->nr_inside;
		nr_wrong += is_wrong;
		printf("%-28s %u of %u inside, off by %.2f of an interval, width %.2f%s\n",
		       one->name, one->nr_inside, one->nr, one->sum / one->halves, width,
		       is_wrong ? ": wrong" : "");
	}
	printf("%.1f %% of all inside\n", 100.0 * nr_inside / nr);
	assert_int_equal(nr_wrong, 0);
	assert_in_range((unsigned int)(1000.0 * nr_inside / nr), 930, most_inside);
}

/* What the views make of a profile. */
static struct tally tally_of(const struct weighed_fixture *weighed, struct stack_id stack)
{
	struct tally none = {0};

	for (size_t i = 0; i < weighed->weights->nr_stacks; i++)
		if (weighed->weights->stacks[i].stack.v == stack.v)
			return weighed->weights->stacks[i].tally;
	return none;
}

/* --- memory: each byte of a program's blocks has the same chance to be met --- */

struct site {
	const char *name;
	uint64_t size_bytes;
	unsigned int nr, nr_freed;
};

#define MOST_SITES 4

struct allocating {
	uint64_t mean_bytes;
	struct site sites[MOST_SITES];
};

static const struct allocating allocating[] = {
	{64 << 10, {{"certain", 1 << 20, 300, 0}, {"small", 5000, 30000, 10000}}},
	{64 << 10, {{"three", 1 << 20, 3, 0}, {"tiny", 48, 300000, 300000}}},
	{64 << 10,
	 {{"page", 4096, 2000, 1000},
	  {"half", 32 << 10, 500, 100},
	  {"mean", 64 << 10, 300, 0},
	  {"twice", 128 << 10, 200, 200}}},
	{512 << 10,
	 {{"line", 64, 200000, 0},
	  {"buffer", 20000, 1500, 700},
	  {"image", 1 << 20, 40, 10},
	  {"large", 1 << 22, 10, 0}}},
};

static uint64_t exact_bytes(const struct allocating *program, bool is_live)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < MOST_SITES; i++)
		bytes += (program->sites[i].nr - (is_live ? program->sites[i].nr_freed : 0)) *
			 program->sites[i].size_bytes;
	return bytes;
}

/* The blocks of a site that a recording meets; the first ones are freed. */
static void allocate(struct made *made, const struct allocating *program, const struct site *site,
		     struct stack_id stack, uint64_t *random)
{
	struct profile_allocation row = {.size_bytes = site->size_bytes,
					 .mean_bytes = program->mean_bytes,
					 .stack = stack,
					 .thread = made->thread,
					 .freed_by = THREAD_NONE,
					 .end = STACK_END_ROOT};
	double chance = allocation_chance(&row);

	for (unsigned int i = 0; i < site->nr; i++) {
		row.time_ns = 1024;
		row.freed_ns = i < site->nr_freed ? 2048 : 0;
		if (next_random(random) < chance)
			profile_add_allocation(made->profile, &row);
	}
}

static void record_memory(const struct allocating *program, uint64_t *random, struct series *series)
{
	struct made made = made_begin();
	struct profile_heap_moment end = {.time_ns = 4096,
					  .allocated_bytes = exact_bytes(program, false)};
	uint64_t live_bytes = exact_bytes(program, true);
	struct stack_id stacks[MOST_SITES] = {{0}};
	struct weighed_fixture allocated, live;

	for (size_t i = 0; i < MOST_SITES && program->sites[i].nr; i++) {
		const struct site *site = &program->sites[i];

		stacks[i] = made_sample(&made, site->name, 1)->stack;
		end.nr_allocations += site->nr;
		allocate(&made, program, site, stacks[i], random);
	}
	profile_add_heap_moment(made.profile, &end);
	allocated = weighed_new(made_end(&made), NULL, METRIC_ALLOC);
	live = weighed_new(made.profile, NULL, METRIC_LIVE);
	for (size_t i = 0; i < MOST_SITES && program->sites[i].nr; i++) {
		const struct site *site = &program->sites[i];
		uint64_t truth = site->nr * site->size_bytes;
		uint64_t alive = (site->nr - site->nr_freed) * site->size_bytes;
		struct tally tally = tally_of(&allocated, stacks[i]);

		series_add(&series[3 * i], (double)truth, (double)tally.weight,
			   tally_error(&tally, &allocated.weights->total) + 1);
		series_add(&series[3 * i + 1], 100 * (double)truth / (double)end.allocated_bytes,
			   tally_percent(&tally, &allocated.weights->total),
			   tally_interval(&tally, &allocated.weights->total));
		tally = tally_of(&live, stacks[i]);
		if (alive)
			series_add(&series[3 * i + 2], 100 * (double)alive / (double)live_bytes,
				   tally_percent(&tally, &live.weights->total),
				   tally_interval(&tally, &live.weights->total));
	}
	weighed_free(&live);
	weighed_free(&allocated);
	profile_free(made.profile);
}

TEST(intervals, of_memory_hold_the_truth)
{
	struct series kept[ARRAY_SIZE(allocating) * MOST_SITES * 3];
	size_t nr = 0;
	uint64_t random = 1;

	for (size_t i = 0; i < ARRAY_SIZE(allocating); i++) {
		const struct allocating *program = &allocating[i];
		struct series series[MOST_SITES * 3] = {0};

		for (unsigned int run = 0; run < NR_RUNS; run++)
			record_memory(program, &random, series);
		for (size_t k = 0; k < ARRAY_SIZE(series); k++) {
			series[k].name = program->sites[k / 3].name;
			if (series[k].nr)
				kept[nr++] = series[k];
		}
	}
	check_series(kept, nr, MOST_INSIDE);
}

/* --- time: a thread that goes from place to place --- */

#define NR_PLACES 2

struct place_time {
	const char *name;
	double mean_ns;
	double spread; /* 0: always as long; 1: exponential */
};

struct going {
	const char *name;
	bool sleeps;	   /* in the places; else it runs there, */
	double between_ns; /* and does the other from one to the next */
	double waits_ns;   /* in the mean for a CPU, each time that it wakes */
	bool in_turns;	   /* else any place follows any other */
	struct place_time places[NR_PLACES];
};

#define US 1e3

static const struct going threads[] = {
	{"asleep in turns, busy",
	 true,
	 20 * US,
	 200 * US,
	 true,
	 {{"a", 550 * US, 0.05}, {"b", 2050 * US, 0.05}}},
	{"asleep in turns, very busy",
	 true,
	 20 * US,
	 3000 * US,
	 true,
	 {{"a", 550 * US, 0.05}, {"b", 2050 * US, 0.05}}},
	{"short sleeps", true, 20 * US, 0, true, {{"a", 100 * US, 0.3}, {"b", 300 * US, 0.3}}},
	{"asleep at random", true, 20 * US, 0, false, {{"a", 500 * US, 1}, {"b", 2000 * US, 1}}},
	{"long sleeps", true, 20 * US, 0, true, {{"a", 4000 * US, 1}, {"b", 20000 * US, 1}}},
	{"runs in turns", false, 0, 0, true, {{"a", 100 * US, 0.3}, {"b", 300 * US, 0.3}}},
	{"runs and sleeps", false, 500 * US, 0, false, {{"a", 500 * US, 1}, {"b", 1500 * US, 1}}},
	{"runs long", false, 0, 0, true, {{"a", 5000 * US, 0.1}, {"b", 8000 * US, 0.1}}},
	{"runs very long", false, 0, 0, true, {{"a", 20000 * US, 0.2}, {"b", 30000 * US, 0.2}}},
	{"runs for a while", false, 0, 0, true, {{"a", 2000 * US, 1}, {"b", 3000 * US, 1}}},
};

#define PERIOD_NS (2 * NS_PER_MS)
#define RUN_NS	  (1000 * NS_PER_MS)

/* Where a thread is, and what the kernel's clocks have of it. */
struct walk {
	const struct going *going;
	uint64_t *random;
	uint64_t now_ns, cpu_ns, runq_ns, pcount;
	uint64_t until_ns; /* of this step */
	enum { STEP_PLACE, STEP_WAIT, STEP_BETWEEN } step;
	size_t place;
	uint64_t spent_ns[NR_PLACES];
};

static double some_time(struct walk *walk, double mean_ns, double spread)
{
	return mean_ns * (1 - spread + spread * -log(next_random(walk->random)));
}

static void begin_step(struct walk *walk)
{
	const struct going *going = walk->going;
	double time_ns;

	switch (walk->step) {
	case STEP_PLACE:
		walk->step = STEP_WAIT;
		time_ns = going->waits_ns > 0 ? some_time(walk, going->waits_ns, 1) : 0;
		break;
	case STEP_WAIT:
		walk->step = STEP_BETWEEN;
		walk->pcount++;
		time_ns = going->between_ns > 0 ? some_time(walk, going->between_ns, 0.5) : 0;
		break;
	case STEP_BETWEEN:
	default:
		walk->step = STEP_PLACE;
		walk->place = going->in_turns ? (walk->place + 1) % NR_PLACES
					      : next_random(walk->random) < 0.5;
		time_ns = some_time(walk, going->places[walk->place].mean_ns,
				    going->places[walk->place].spread);
		break;
	}
	walk->until_ns = walk->now_ns + (uint64_t)time_ns;
}

/* A wait is in its clock when it is over, as that of the kernel has it. */
static void go_until(struct walk *walk, uint64_t time_ns)
{
	while (walk->now_ns < time_ns) {
		uint64_t to_ns = min_u64(time_ns, walk->until_ns), passed_ns = to_ns - walk->now_ns;

		if (walk->step == STEP_PLACE)
			walk->spent_ns[walk->place] += passed_ns;
		if (walk->step == STEP_WAIT)
			walk->runq_ns += passed_ns;
		else if ((walk->step == STEP_PLACE) != walk->going->sleeps)
			walk->cpu_ns += passed_ns;
		walk->now_ns = to_ns;
		while (walk->now_ns == walk->until_ns)
			begin_step(walk);
	}
}

static struct account_clocks clocks_of(const struct walk *walk)
{
	return (struct account_clocks){
		.time_ns = walk->now_ns, .cpu_ns = walk->cpu_ns, .runq_ns = walk->runq_ns};
}

/* As the sampler does; places are stacks 1 and 2, and what is between them is a third. */
static void sample_walk(struct sample_sink *sink, struct thread_samples *thread, struct walk *walk,
			uint64_t *slept_pcount, const struct stack_id *stacks)
{
	bool is_asleep =
		(walk->step == STEP_PLACE) == walk->going->sleeps && walk->step != STEP_WAIT;
	struct snapshot snapshot = {.syscall_nr = is_asleep ? 230 : SNAPSHOT_NO_SYSCALL};
	struct message_sample seen = {.state = is_asleep		 ? SEEN_BLOCKED
					       : walk->step == STEP_WAIT ? SEEN_RUNNABLE
									 : SEEN_RUNNING,
				      .clocks = clocks_of(walk),
				      .pcount = walk->pcount,
				      .snapshot = &snapshot};
	struct message_sample sleeps_on = {.slept_sure_ns = walk->now_ns,
					   .slept_until_ns = walk->now_ns};

	if (walk->step == STEP_WAIT)
		return;
	if (is_asleep && *slept_pcount == walk->pcount) {
		samples_lengthen_sleep(sink, thread, &sleeps_on);
		return;
	}
	*slept_pcount = is_asleep ? walk->pcount : UINT64_MAX;
	samples_add(sink, thread, &seen, stacks[walk->step == STEP_PLACE ? walk->place : NR_PLACES],
		    STACK_END_ROOT);
}

static void record_time(const struct going *program, uint64_t *random, struct series *series)
{
	struct made made = made_begin();
	struct walk walk = {.going = program, .random = random, .step = STEP_BETWEEN};
	struct sample_sink sink = {.profile = made.profile, .period_ns = PERIOD_NS};
	struct thread_samples thread = {.row = made.thread};
	struct stack_id stacks[NR_PLACES + 1];
	struct schedule schedule;
	uint64_t slept_pcount = UINT64_MAX;
	double all_ns = 0;
	struct weighed_fixture weighed;
	struct tally tally;

	made.profile->meta.frequency_hz = NS_PER_SEC / PERIOD_NS;
	for (size_t i = 0; i < NR_PLACES; i++)
		stacks[i] = made_sample(&made, program->places[i].name, 0)->stack;
	stacks[NR_PLACES] = made_sample(&made, "between", 0)->stack;
	made.profile->nr_samples = 0;
	begin_step(&walk);
	account_start(&thread.account, &(struct account_clocks){0});
	schedule_init(&schedule, 0, PERIOD_NS, 1 + (uint64_t)(next_random(random) * 1e9));
	while (schedule.next_ns < RUN_NS) {
		go_until(&walk, schedule.next_ns);
		sample_walk(&sink, &thread, &walk, &slept_pcount, stacks);
		schedule_advance(&schedule, schedule.next_ns);
	}
	go_until(&walk, RUN_NS);
	samples_end(&sink, &thread,
		    &(const struct account_clocks){walk.now_ns, walk.cpu_ns, walk.runq_ns});
	made_end(&made);
	profile_spread_cpu_time(made.profile);
	weighed = weighed_new(made.profile, NULL, program->sleeps ? METRIC_BLOCKED : METRIC_CPU);
	for (size_t i = 0; i < NR_PLACES; i++)
		all_ns += (double)walk.spent_ns[i];
	tally = tally_of(&weighed, stacks[0]);
	series_add(series, 100 * (double)walk.spent_ns[0] / all_ns,
		   tally_percent(&tally, &weighed.weights->total),
		   tally_interval(&tally, &weighed.weights->total));
	weighed_free(&weighed);
	profile_free(made.profile);
}

TEST(intervals, of_time_hold_the_truth)
{
	struct series series[ARRAY_SIZE(threads)] = {0};
	uint64_t random = 1;

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		series[i].name = threads[i].name;
		for (unsigned int run = 0; run < NR_RUNS; run++)
			record_time(&threads[i], &random, &series[i]);
	}
	check_series(series, ARRAY_SIZE(series), MOST_INSIDE);
}

/* --- programs made of processes, or threads, that live for about a tick --- */

struct lives {
	const char *name;
	uint64_t life_us[2]; /* of each other one; its stacks are those of two halves */
	bool is_read;	     /* its clock, after it has ended */
	bool are_threads;
};

static const struct lives lives[] = {
	{"lives of a half and of 1.5 ticks", {1000, 3000}, false, false},
	{"which are zombies for a while", {1000, 3000}, true, false},
	{"lives of a quarter and of 4 ticks", {500, 8000}, false, false},
	{"threads of a half and of 1.5 ticks", {1000, 3000}, false, true},
	{"threads of a quarter and of 4 ticks", {500, 8000}, false, true},
};

/*
 * Samples count as independent, while the gaps between ticks have a least length: that makes the
 * numbers of samples of short lives more even, by an eighth of their spread.
 */
#define MOST_INSIDE_OF_LIVES 980
#define NR_LIVES	     300
#define NR_HALVES	     4
#define LIFE_TICK_NS	     (2 * NS_PER_MS)

struct living {
	struct made made;
	struct schedule schedule;
	struct stack_id stacks[NR_HALVES];
	uint64_t now_ns, unknown_ns, spent_ns[NR_HALVES];
};

static void end_life(struct made *made, const struct lives *of, uint64_t begin_ns, uint64_t end_ns,
		     bool stands)
{
	struct profile_thread *thread = &made->profile->threads[made->thread.v];
	struct profile_process *process = &made->profile->processes[thread->process];

	if (of->are_threads) {
		thread->start_ns = begin_ns;
		thread->end_ns = end_ns;
		thread->stands_for_unseen = stands;
	} else {
		process->end_ns = end_ns;
		process->stands_for_unseen = stands;
	}
}

/* A process or a thread of its own, found by the first tick that meets it; or by none. */
static void live(struct living *living, const struct lives *of, int number)
{
	static const char *const names[] = {"first", "second"};
	struct made *made = &living->made;
	uint64_t life_ns = of->life_us[number % 2] * NS_PER_US;
	uint64_t begin_ns = living->now_ns, known_ns = begin_ns;
	struct sample sample = {.nr = 1, .syscall_nr = -1, .end = STACK_END_ROOT};
	bool is_found = living->schedule.next_ns < begin_ns + life_ns;
	unsigned int nr = 0;

	if (is_found)
		sample.thread = made_thread(made, of->are_threads ? 1 : 1000 + number,
					    1000 + number, names[number % 2]);
	for (; living->schedule.next_ns < begin_ns + life_ns; known_ns = sample.time_ns) {
		sample.time_ns = living->schedule.next_ns;
		sample.cpu_ns = sample.time_ns - known_ns;
		sample.stack = living->stacks[2 * (number % 2) +
					      (sample.time_ns - begin_ns >= life_ns / 2)];
		profile_add_sample(made->profile, &sample);
		schedule_advance(&living->schedule, sample.time_ns);
		nr++;
	}
	if (is_found)
		end_life(made, of, begin_ns, begin_ns + life_ns, !of->is_read || nr == 1);
	for (int half = 0; half < 2; half++)
		living->spent_ns[2 * (number % 2) + half] += life_ns / 2;
	living->now_ns += life_ns;
	sample = (struct sample){.thread = sample.thread,
				 .time_ns = living->now_ns,
				 .cpu_ns = living->now_ns - known_ns,
				 .syscall_nr = -1,
				 .kind = SAMPLE_UNATTRIBUTED};
	if (is_found && of->is_read)
		profile_add_sample(made->profile, &sample);
	else
		living->unknown_ns += sample.cpu_ns;
}

static void record_lives(const struct lives *of, uint64_t *random, struct series *series)
{
	static const char *const stacks[] = {"a", "b", "c", "d"};
	struct living living = {.made = made_begin()};
	struct profile *profile = living.made.profile;
	struct weighed_fixture weighed;
	double all_ns = 0;

	profile->meta.frequency_hz = NS_PER_SEC / LIFE_TICK_NS;
	for (int i = 0; i < NR_HALVES; i++)
		living.stacks[i] = made_sample(&living.made, stacks[i], 0)->stack;
	profile->nr_samples = 0;
	schedule_init(&living.schedule, 0, LIFE_TICK_NS, 1 + (uint64_t)(next_random(random) * 1e9));
	for (int i = 0; i < NR_LIVES; i++)
		live(&living, of, i);
	made_thread(&living.made, of->are_threads ? 1 : 0, 0, SHORT_LIVED_NAME);
	profile_add_sample(profile, &(struct sample){.thread = living.made.thread,
						     .time_ns = living.now_ns,
						     .cpu_ns = living.unknown_ns,
						     .syscall_nr = -1,
						     .kind = SAMPLE_UNATTRIBUTED});
	made_end(&living.made);
	profile_spread_cpu_time(profile);
	profile_estimate_short_lives(profile);
	weighed = weighed_new(profile, NULL, METRIC_CPU);
	assert_int_equal(weighed.weights->total.weight, living.now_ns);
	for (int i = 0; i < NR_HALVES; i++)
		all_ns += (double)living.spent_ns[i];
	for (int i = 0; i < NR_HALVES; i++) {
		struct tally tally = tally_of(&weighed, living.stacks[i]);

		series_add(&series[i], 100 * (double)living.spent_ns[i] / all_ns,
			   tally_percent(&tally, &weighed.weights->total),
			   tally_interval(&tally, &weighed.weights->total));
	}
	weighed_free(&weighed);
	profile_free(profile);
}

TEST(intervals, of_short_lives_hold_the_truth)
{
	struct series series[ARRAY_SIZE(lives)][NR_HALVES] = {0};
	uint64_t random = 1;

	for (size_t i = 0; i < ARRAY_SIZE(lives); i++) {
		for (size_t half = 0; half < NR_HALVES; half++)
			series[i][half].name = lives[i].name;
		for (unsigned int run = 0; run < NR_RUNS; run++)
			record_lives(&lives[i], &random, series[i]);
	}
	check_series(series[0], ARRAY_SIZE(lives) * NR_HALVES, MOST_INSIDE_OF_LIVES);
}
