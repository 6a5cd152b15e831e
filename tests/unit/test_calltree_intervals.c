// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A model of recordings with known shares, always the same one: do intervals of 95% hold the truth
 * as often as they say, and are they no wider than that needs? `make check-intervals` asks the same
 * of real programs.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "profile/profile.h"
#include "tests/unit/made_profile.h"

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

/* In each series 95% are inside, but for four standard deviations of chance. */
static void check_series(const struct series *series, size_t nr_series)
{
	unsigned int nr = 0, nr_inside = 0, nr_wrong = 0;

	for (size_t i = 0; i < nr_series; i++) {
		const struct series *one = &series[i];
		double width = series_width(one);
		bool is_wrong;

		if (is_certain(one)) {
			printf("%-28s %u of %u inside, certain\n", one->name, one->nr_inside,
			       one->nr);
			nr_wrong += one->nr_inside < one->nr ||
				    one->halves / one->nr > one->truth / 1000;
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
	assert_in_range((unsigned int)(1000.0 * nr_inside / nr), 930, 970);
}

/* What the views make of a profile. */
struct bench {
	struct expansion *expansion;
	struct selection *selection;
	struct weights *weights;
};

static struct bench bench_begin(const struct profile *profile, enum metric metric)
{
	const struct filter everything = {.from_ns = 0};
	struct bench bench = {.expansion = expansion_new(profile, false)};

	assert_int_equal(selection_new(bench.expansion, &everything, &bench.selection, NULL), 0);
	bench.weights = weights_new(bench.selection, metric);
	return bench;
}

static void bench_end(struct bench *bench)
{
	weights_free(bench->weights);
	selection_free(bench->selection);
	expansion_free(bench->expansion);
}

static struct tally tally_of(const struct bench *bench, struct stack_id stack)
{
	struct tally none = {0};

	for (size_t i = 0; i < bench->weights->nr_stacks; i++)
		if (bench->weights->stacks[i].stack.v == stack.v)
			return bench->weights->stacks[i].tally;
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
	struct bench allocated, live;

	for (size_t i = 0; i < MOST_SITES && program->sites[i].nr; i++) {
		const struct site *site = &program->sites[i];

		stacks[i] = made_sample(&made, site->name, 1)->stack;
		end.nr_allocations += site->nr;
		allocate(&made, program, site, stacks[i], random);
	}
	profile_add_heap_moment(made.profile, &end);
	allocated = bench_begin(made_end(&made), METRIC_ALLOC);
	live = bench_begin(made.profile, METRIC_LIVE);
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
	bench_end(&live);
	bench_end(&allocated);
	profile_free(made.profile);
}

static void test_intervals__of_memory_hold_the_truth(void **state)
{
	struct series kept[ARRAY_SIZE(allocating) * MOST_SITES * 3];
	size_t nr = 0;
	uint64_t random = 1;

	(void)state;
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
	check_series(kept, nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals__of_memory_hold_the_truth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
