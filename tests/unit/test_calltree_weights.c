// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "profile/profile.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

#define MS UINT64_C(1000000)

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

/*
 * Whatever the order of the samples is: callers come first, and a stack's ends are one after the
 * other. What is only a caller has no row, and neither has what has nothing of the metric.
 */
TEST(weights, are_of_stacks_in_order)
{
	struct made made = made_begin();
	struct stack_id leaf, middle;
	struct stack_weight sum;
	struct bench bench;
	size_t next = 0;

	leaf = made_sample(&made, "main;middle;leaf", 1)->stack;
	made_sample(&made, "main;middle;leaf", 2)->end = STACK_END_NO_CFI;
	made_sample(&made, "main;middle;other", 0);
	made_sample(&made, "main;middle;leaf", 4);
	middle = made_sample(&made, "main;middle", 8)->stack;
	made_sample(&made, "", 16)->kind = SAMPLE_UNATTRIBUTED;
	made_sample(&made, "", 32)->end = STACK_END_NOT_TAKEN;
	bench = bench_begin(made_end(&made), METRIC_CPU);
	assert_true(middle.v < leaf.v);
	assert_int_equal(bench.weights->nr_stacks, 3);
	assert_int_equal(bench.weights->stacks[1].end, STACK_END_ROOT);
	assert_int_equal(bench.weights->stacks[2].end, STACK_END_NO_CFI);
	assert_true(weights_next_stack(bench.weights, &next, &sum));
	assert_int_equal(sum.stack.v, middle.v);
	assert_int_equal(sum.tally.weight, 8 * MS);
	assert_int_equal(next, 1);
	assert_true(weights_next_stack(bench.weights, &next, &sum));
	assert_int_equal(sum.stack.v, leaf.v);
	assert_int_equal(sum.tally.weight, 7 * MS);
	assert_int_equal(sum.tally.samples, 3);
	assert_int_equal(next, 3);
	assert_false(weights_next_stack(bench.weights, &next, &sum));
	assert_int_equal(bench.weights->ended[STACK_END_ROOT].weight, 13 * MS);
	assert_int_equal(bench.weights->truncated.weight, 2 * MS);
	assert_int_equal(bench.weights->unattributed.weight, 16 * MS);
	assert_int_equal(bench.weights->no_stack.weight, 32 * MS);
	assert_int_equal(bench.weights->total.weight, 63 * MS);
	bench_end(&bench);
	profile_free(made.profile);
}

TEST(weights, of_nothing)
{
	struct made made = made_begin();
	struct stack_weight sum;
	struct bench bench;
	size_t next = 0;

	made_sample(&made, "main", 1);
	bench = bench_begin(made_end(&made), METRIC_BLOCKED);
	assert_int_equal(bench.weights->total.weight, 0);
	assert_false(weights_next_stack(bench.weights, &next, &sum));
	bench_end(&bench);
	profile_free(made.profile);
}
