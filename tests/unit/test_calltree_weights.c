// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/weights.h"
#include "profile/profile.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"

#define MS UINT64_C(1000000)

/*
 * Whatever the order of the samples is: callers come first, and a stack's ends are one after the
 * other. What is only a caller has no row, and neither has what has nothing of the metric.
 */
TEST(weights, are_of_stacks_in_order)
{
	struct made made = made_begin();
	struct stack_id leaf, middle;
	struct stack_weight sum;
	struct weighed_fixture weighed;
	size_t next = 0;

	leaf = made_sample(&made, "main;middle;leaf", 1)->stack;
	made_sample(&made, "main;middle;leaf", 2)->end = STACK_END_NO_CFI;
	made_sample(&made, "main;middle;other", 0);
	made_sample(&made, "main;middle;leaf", 4);
	middle = made_sample(&made, "main;middle", 8)->stack;
	made_sample(&made, "", 16)->kind = SAMPLE_UNATTRIBUTED;
	made_sample(&made, "", 32)->end = STACK_END_NOT_TAKEN;
	weighed = weighed_new(made_end(&made), NULL, METRIC_CPU);
	assert_true(middle.v < leaf.v);
	assert_int_equal(weighed.weights->nr_stacks, 3);
	assert_int_equal(weighed.weights->stacks[1].end, STACK_END_ROOT);
	assert_int_equal(weighed.weights->stacks[2].end, STACK_END_NO_CFI);
	assert_true(weights_next_stack(weighed.weights, &next, &sum));
	assert_int_equal(sum.stack.v, middle.v);
	assert_int_equal(sum.tally.weight, 8 * MS);
	assert_int_equal(next, 1);
	assert_true(weights_next_stack(weighed.weights, &next, &sum));
	assert_int_equal(sum.stack.v, leaf.v);
	assert_int_equal(sum.tally.weight, 7 * MS);
	assert_int_equal(sum.tally.samples, 3);
	assert_int_equal(next, 3);
	assert_false(weights_next_stack(weighed.weights, &next, &sum));
	assert_int_equal(weighed.weights->ended[STACK_END_ROOT].weight, 13 * MS);
	assert_int_equal(weighed.weights->truncated.weight, 2 * MS);
	assert_int_equal(weighed.weights->unattributed.weight, 16 * MS);
	assert_int_equal(weighed.weights->no_stack.weight, 32 * MS);
	assert_int_equal(weighed.weights->total.weight, 63 * MS);
	weighed_free(&weighed);
	profile_free(made.profile);
}

TEST(weights, of_nothing)
{
	struct made made = made_begin();
	struct stack_weight sum;
	struct weighed_fixture weighed;
	size_t next = 0;

	made_sample(&made, "main", 1);
	weighed = weighed_new(made_end(&made), NULL, METRIC_BLOCKED);
	assert_int_equal(weighed.weights->total.weight, 0);
	assert_false(weights_next_stack(weighed.weights, &next, &sum));
	weighed_free(&weighed);
	profile_free(made.profile);
}
