// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/histogram.h"
#include "sampler/governor.h"
#include "sampler/schedule.h"

#define PERIOD_NS UINT64_C(2000000)

#define LEAST_GAP_NS (PERIOD_NS / 8)
#define MOST_GAP_NS  (6 * PERIOD_NS)

static void test_schedule__gaps_are_exponential_with_the_period_as_mean(void **state)
{
	struct schedule schedule;
	uint64_t last_ns, start_ns = 1000, nr_short = 0;

	(void)state;
	schedule_init(&schedule, start_ns, PERIOD_NS, 42);
	assert_in_range(schedule.next_ns, start_ns, start_ns + PERIOD_NS);
	for (uint64_t i = 0; i < 4000; i++) {
		uint64_t after_next_ns = schedule.after_next_ns;

		last_ns = schedule.next_ns;
		schedule_advance(&schedule, last_ns + 100);
		assert_int_equal(schedule.next_ns, after_next_ns);
		assert_in_range(schedule.next_ns - last_ns, LEAST_GAP_NS, MOST_GAP_NS);
		nr_short += schedule.next_ns - last_ns < PERIOD_NS / 2;
	}
	/* 4000 gaps of one period; the sum has a standard deviation of 55 periods. */
	assert_in_range(schedule.next_ns, 3750 * PERIOD_NS, 4250 * PERIOD_NS);
	/* 1 - exp(-3/7) are shorter than half a period: 1394, with a deviation of 30. */
	assert_in_range(nr_short, 1250, 1540);
	assert_int_equal(schedule.nr_missed, 0);
}

/*
 * Each tick sets off what lasts for a period, as a thread's burst that waited for the CPU of one
 * that was stopped: what happens in it is to be seen at all its ages alike.
 */
static void test_schedule__does_not_avoid_what_ticks_set_off(void **state)
{
	uint64_t nr_by_quarter[4] = {0};
	struct schedule schedule;
	uint64_t set_off_ns = 0;

	(void)state;
	schedule_init(&schedule, 0, PERIOD_NS, 7);
	for (uint64_t i = 0; i < 8000; i++) {
		uint64_t age_ns = schedule.next_ns - set_off_ns;

		if (age_ns < PERIOD_NS)
			nr_by_quarter[age_ns * 4 / PERIOD_NS]++;
		else
			set_off_ns = schedule.next_ns;
		schedule_advance(&schedule, schedule.next_ns);
	}
	/* But for the first eighth of a period. */
	for (int i = 2; i < 4; i++)
		assert_in_range(nr_by_quarter[i], nr_by_quarter[1] * 8 / 10,
				nr_by_quarter[1] * 12 / 10);
	assert_in_range(nr_by_quarter[0], nr_by_quarter[1] * 4 / 10, nr_by_quarter[1] * 7 / 10);
}

/*
 * A target that goes round in exactly one period: the time that ticks stand for, each for
 * the gap before it, must come out equal for all parts of the round.
 */
static void test_schedule__does_not_alias_with_a_target_of_the_same_rhythm(void **state)
{
	struct schedule schedule;
	uint64_t weight_by_quarter[4] = {0};
	uint64_t last_ns = 0;

	(void)state;
	schedule_init(&schedule, 0, PERIOD_NS, 7);
	for (uint64_t i = 0; i < 4000; i++) {
		weight_by_quarter[schedule.next_ns % PERIOD_NS / (PERIOD_NS / 4)] +=
			schedule.next_ns - last_ns;
		last_ns = schedule.next_ns;
		schedule_advance(&schedule, schedule.next_ns);
	}
	/* 1000 periods each, with a deviation of 40. */
	for (int i = 0; i < 4; i++)
		assert_in_range(weight_by_quarter[i], 830 * PERIOD_NS, 1170 * PERIOD_NS);
}

static void test_schedule__ticks_that_nobody_took_are_counted_and_skipped(void **state)
{
	struct schedule schedule;
	uint64_t now_ns;

	(void)state;
	schedule_init(&schedule, 0, PERIOD_NS, 7);
	now_ns = schedule.next_ns + 10 * PERIOD_NS;
	schedule_advance(&schedule, now_ns);
	/* The next was due some time after the first. */
	assert_in_range(schedule.nr_missed, 5, 10);
	assert_in_range(schedule.next_ns, now_ns + LEAST_GAP_NS, now_ns + MOST_GAP_NS);
}

static void test_schedule__what_is_due_during_a_tick_is_left_out(void **state)
{
	struct schedule schedule;
	uint64_t first_ns, second_ns;

	(void)state;
	schedule_init(&schedule, 0, PERIOD_NS, 7);
	first_ns = schedule.next_ns;
	schedule_advance(&schedule, first_ns);
	second_ns = schedule.next_ns;
	schedule_catch_up(&schedule, second_ns - 1);
	assert_int_equal(schedule.next_ns, second_ns);
	assert_int_equal(schedule.nr_missed, 0);
	schedule_catch_up(&schedule, second_ns);
	assert_int_equal(schedule.nr_missed, 1);
	assert_in_range(schedule.next_ns, second_ns + LEAST_GAP_NS, second_ns + MOST_GAP_NS);
}

static void test_schedule__a_new_period_counts_from_the_next_tick_on(void **state)
{
	struct schedule schedule;
	uint64_t first_ns;

	(void)state;
	schedule_init(&schedule, 0, PERIOD_NS, 7);
	first_ns = schedule.next_ns;
	schedule_set_period(&schedule, 10 * PERIOD_NS);
	assert_int_equal(schedule.next_ns, first_ns);
	schedule_advance(&schedule, first_ns);
	assert_in_range(schedule.next_ns - first_ns, 10 * LEAST_GAP_NS, 10 * MOST_GAP_NS);
}

static void test_schedule__time_that_was_skipped_has_no_missed_ticks(void **state)
{
	const uint64_t after_ns = 1000 * PERIOD_NS;
	struct schedule schedule;

	(void)state;
	schedule_init(&schedule, 0, PERIOD_NS, 7);
	schedule_skip(&schedule, after_ns);
	assert_in_range(schedule.next_ns, after_ns, after_ns + PERIOD_NS);
	schedule_advance(&schedule, schedule.next_ns);
	assert_int_equal(schedule.nr_missed, 0);
	assert_in_range(schedule.next_ns, after_ns + LEAST_GAP_NS,
			after_ns + PERIOD_NS + MOST_GAP_NS);
}

/* The cost of a hundred stops. */
static uint64_t update(struct governor *governor, uint64_t cost_ns, uint64_t window_ns)
{
	const struct governor_cost cost = {.cost_ns = cost_ns, .nr_stops = 100};

	return governor_update(governor, &cost, window_ns);
}

static void test_governor__lets_a_cheap_rate_be(void **state)
{
	struct governor governor;

	(void)state;
	governor_init(&governor, PERIOD_NS, 20000);
	assert_int_equal(update(&governor, 1000000, 250000000), PERIOD_NS);
}

static void test_governor__bounds_what_ticks_take(void **state)
{
	struct governor governor;

	(void)state;
	governor_init(&governor, PERIOD_NS, 20000);
	/* 0.7 ms a tick on two CPUs: 2 % of both are used up every 17.5 ms. */
	assert_int_equal(governor_shortest_period(&governor, 700000, 2), 17500000);
	assert_int_equal(governor_shortest_period(&governor, UINT64_MAX, 1),
			 governor.max_period_ns);
	governor_init(&governor, PERIOD_NS, 0);
	assert_int_equal(governor_shortest_period(&governor, 700000, 2), 0);
}

static void test_governor__cuts_a_rate_that_costs_too_much(void **state)
{
	struct governor governor;

	(void)state;
	governor_init(&governor, PERIOD_NS, 20000);
	/* 10 ms of 250 are 4 %, twice what is allowed. */
	assert_int_equal(update(&governor, 10000000, 250000000), 2 * PERIOD_NS);
	/* Half the stops, half the cost. */
	assert_int_equal(update(&governor, 5000000, 250000000), 2 * PERIOD_NS);
}

static void test_governor__raises_the_rate_in_steps_up_to_what_was_asked_for(void **state)
{
	struct governor governor;

	(void)state;
	governor_init(&governor, PERIOD_NS, 20000);
	update(&governor, 10000000, 250000000);
	assert_int_equal(update(&governor, 0, 250000000), 16 * PERIOD_NS / 10);
	for (int i = 0; i < 10; i++)
		update(&governor, 0, 250000000);
	assert_int_equal(governor.period_ns, PERIOD_NS);
}

static void test_governor__does_not_learn_all_from_a_few_stops(void **state)
{
	const struct governor_cost one = {.cost_ns = 60000000, .nr_stops = 1};
	const struct governor_cost eight = {.cost_ns = 60000000, .nr_stops = 8};
	struct governor governor;

	(void)state;
	governor_init(&governor, PERIOD_NS, 20000);
	assert_int_equal(governor_update(&governor, &one, 250000000), 5 * PERIOD_NS / 4);
	governor_init(&governor, PERIOD_NS, 20000);
	assert_int_equal(governor_update(&governor, &eight, 250000000), 3 * PERIOD_NS);
	governor_init(&governor, PERIOD_NS, 20000);
	assert_int_equal(update(&governor, 60000000, 250000000), 12 * PERIOD_NS);
}

static void test_governor__raises_the_rate_by_the_time_that_passed(void **state)
{
	struct governor governor;

	(void)state;
	governor_init(&governor, PERIOD_NS, 20000);
	update(&governor, 100000000, 250000000);
	assert_int_equal(governor.period_ns, 20 * PERIOD_NS);
	/* A window that lasts as long as three. */
	assert_int_equal(update(&governor, 0, 750000000), 1024 * PERIOD_NS / 100);
	update(&governor, 0, UINT64_MAX);
	assert_int_equal(governor.period_ns, PERIOD_NS);
}

static void test_governor__zero_switches_it_off(void **state)
{
	struct governor governor;

	(void)state;
	governor_init(&governor, PERIOD_NS, 0);
	assert_int_equal(update(&governor, 250000000, 250000000), PERIOD_NS);
}

static void test_histogram__quantiles_are_within_a_step(void **state)
{
	static struct histogram histogram;

	(void)state;
	assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
	for (uint64_t value = 1; value <= 1000; value++)
		histogram_add(&histogram, value);
	assert_in_range(histogram_quantile(&histogram, 0.5), 448, 500);
	assert_in_range(histogram_quantile(&histogram, 0.99), 896, 990);
	assert_int_equal(histogram.sum, 500500);
	histogram_add(&histogram, UINT64_MAX);
	assert_true(histogram_quantile(&histogram, 1) > UINT64_MAX / 8 * 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schedule__gaps_are_exponential_with_the_period_as_mean),
		cmocka_unit_test(test_schedule__does_not_avoid_what_ticks_set_off),
		cmocka_unit_test(test_schedule__does_not_alias_with_a_target_of_the_same_rhythm),
		cmocka_unit_test(test_schedule__ticks_that_nobody_took_are_counted_and_skipped),
		cmocka_unit_test(test_schedule__what_is_due_during_a_tick_is_left_out),
		cmocka_unit_test(test_schedule__a_new_period_counts_from_the_next_tick_on),
		cmocka_unit_test(test_schedule__time_that_was_skipped_has_no_missed_ticks),
		cmocka_unit_test(test_governor__lets_a_cheap_rate_be),
		cmocka_unit_test(test_governor__bounds_what_ticks_take),
		cmocka_unit_test(test_governor__cuts_a_rate_that_costs_too_much),
		cmocka_unit_test(test_governor__raises_the_rate_in_steps_up_to_what_was_asked_for),
		cmocka_unit_test(test_governor__does_not_learn_all_from_a_few_stops),
		cmocka_unit_test(test_governor__raises_the_rate_by_the_time_that_passed),
		cmocka_unit_test(test_governor__zero_switches_it_off),
		cmocka_unit_test(test_histogram__quantiles_are_within_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
