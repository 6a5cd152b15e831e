// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A model of pairs of runs of one program, with machines that are faster and slower and functions
 * that vary from run to run: how many of the changes that diff calls sure are false?
 */
#include <math.h>

#include "base/alloc.h"
#include "calltree/diff.h"
#include "calltree/weights.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"

#define NR_FUNCTIONS 600
#define MEAN_SAMPLES 80
#define MAX_RUNS     3

static double next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(*state >> 33) + 0.5) * 0x1p-31;
}

static double next_normal(uint64_t *state)
{
	double angle = 6.283185307179586 * next_random(state);

	return sqrt(-2 * log(next_random(state))) * cos(angle);
}

static unsigned int next_poisson(uint64_t *state, double mean)
{
	double product = next_random(state), limit = exp(-mean);
	unsigned int nr = 0;

	for (; product > limit; nr++)
		product *= next_random(state);
	return nr;
}

/* How runs differ: standard deviations of logarithms of factors. */
struct model {
	double machine, function;
	unsigned int nr_changed; /* functions that take twice as long after */
	unsigned int nr_runs;	 /* on either side */
};

struct run {
	struct profile *profile;
	struct weighed_fixture weighed;
};

static struct run make_run(const struct model *model, bool is_after, uint64_t *state)
{
	double machine = exp(model->machine * next_normal(state));
	struct made made = made_begin();
	struct profile *profile;

	for (unsigned int i = 0; i < NR_FUNCTIONS; i++) {
		double slower = is_after && i < model->nr_changed ? 2 : 1;
		double factor = exp(model->function * next_normal(state)) * slower * machine;
		unsigned int nr = next_poisson(state, MEAN_SAMPLES * factor);
		char stack[32];

		snprintf(stack, sizeof(stack), "main;f%u", i);
		if (nr)
			made_sample(&made, stack, nr)->nr = nr;
	}
	profile = made_at_once(made_end(&made));
	return (struct run){profile, weighed_new(profile, NULL, METRIC_CPU)};
}

/* Of many comparisons. */
struct outcome {
	unsigned int nr, nr_with_false; /* comparisons; of these, with a false row */
	double nr_sure, nr_false, false_shares;
	unsigned int nr_common, nr_outside; /* total's interval does not hold its truth */
	double factors;
};

static bool is_changed(const struct diff *diff, const struct diff_row *row,
		       const struct model *model)
{
	const struct diff_at *at = diff_known_at(row);
	const struct expansion *expansion = diff_weights(diff, at)->selection->expansion;
	const struct function *function = label_function(expansion, at->label);
	const char *name = profile_str(expansion->profile, function->name);

	return name[0] == 'f' && strtoul(name + 1, NULL, 10) < model->nr_changed;
}

static void count_diff(struct outcome *outcome, const struct diff *diff, const struct model *model)
{
	unsigned int nr_sure = 0, nr_false = 0;
	double truth = 100.0 * model->nr_changed / NR_FUNCTIONS;

	for (size_t i = 0; i < diff->nr; i++) {
		if (!diff_row_is_sure(&diff->rows[i]))
			continue;
		nr_sure++;
		nr_false += !is_changed(diff, &diff->rows[i], model);
	}
	outcome->nr++;
	outcome->nr_sure += nr_sure;
	outcome->nr_false += nr_false;
	outcome->nr_with_false += nr_false > 0;
	outcome->false_shares += nr_sure ? (double)nr_false / nr_sure : 0;
	outcome->nr_common += diff->noise.is_common;
	outcome->factors += diff->noise.factor;
	outcome->nr_outside += fabs(diff_total_change(diff) - truth) > diff_total_half(diff);
}

static struct outcome compare_many(const struct model *model, unsigned int nr)
{
	struct outcome outcome = {0};
	uint64_t state = 1;

	for (unsigned int i = 0; i < nr; i++) {
		struct run runs[2 * MAX_RUNS];
		const struct weights *weights[2 * MAX_RUNS];
		struct diff_request request = {.old_runs = weights,
					       .new_runs = weights + model->nr_runs,
					       .nr_old = model->nr_runs,
					       .nr_new = model->nr_runs,
					       .mode = DIFF_AMOUNTS};
		struct diff *diff;

		for (unsigned int run = 0; run < 2 * model->nr_runs; run++) {
			runs[run] = make_run(model, run >= model->nr_runs, &state);
			weights[run] = runs[run].weighed.weights;
		}
		diff = diff_new(&request);
		count_diff(&outcome, diff, model);
		diff_free(diff);
		for (unsigned int run = 0; run < 2 * model->nr_runs; run++) {
			weighed_free(&runs[run].weighed);
			profile_free(runs[run].profile);
		}
	}
	printf("machine %.2f function %.2f changed %u, %u runs: %u of %u comparisons with a false "
	       "row, %.1f sure, %.2f false, total outside %u\n",
	       model->machine, model->function, model->nr_changed, model->nr_runs,
	       outcome.nr_with_false, outcome.nr, outcome.nr_sure / outcome.nr,
	       outcome.nr_false / outcome.nr, outcome.nr_outside);
	return outcome;
}

/* One in twenty, and three standard deviations of chance. */
static unsigned int most_of(unsigned int nr)
{
	return (unsigned int)(0.05 * nr + 3 * sqrt(0.0475 * nr));
}

TEST(diff_noise, equal_functions_do_not_change)
{
	const struct model models[] = {
		{.nr_runs = 1},
		{.machine = 0.3, .nr_runs = 1},
		{.machine = 0.3, .function = 0.1, .nr_runs = 1},
		{.machine = 0.1, .function = 0.3, .nr_runs = 1},
		{.machine = 0.3, .function = 0.1, .nr_runs = 3},
	};

	for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
		struct outcome outcome = compare_many(&models[i], 60);

		assert_true(outcome.nr_with_false <= most_of(outcome.nr));
		if (models[i].nr_runs > 1 || models[i].function > 0)
			assert_true(outcome.nr_outside <= most_of(outcome.nr));
	}
}

TEST(diff_noise, few_of_the_sure_changes_are_false)
{
	const struct model models[] = {
		{.machine = 0.3, .function = 0.05, .nr_changed = 60, .nr_runs = 1},
		{.machine = 0.05, .function = 0.05, .nr_changed = 60, .nr_runs = 3},
	};

	for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
		struct outcome outcome = compare_many(&models[i], 30);

		assert_true(outcome.false_shares / outcome.nr < 0.07);
		/* Half of those that changed, at least. */
		assert_true(outcome.nr_sure / outcome.nr > 30);
	}
}

TEST(diff_noise, a_slower_machine_is_said)
{
	struct outcome slower;
	const struct model same = {.function = 0.05, .nr_runs = 1};
	const struct model apart = {.machine = 0.4, .function = 0.05, .nr_runs = 1};

	slower = compare_many(&apart, 20);
	assert_true(slower.nr_common >= 17);
	slower = compare_many(&same, 40);
	assert_true(slower.nr_common <= most_of(40));
}
