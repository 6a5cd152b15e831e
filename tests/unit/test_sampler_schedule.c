// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampler/governor.h"
#include "sampler/histogram.h"
#include "sampler/schedule.h"

#define PERIOD_NS UINT64_C(2000000)

static void test_schedule__each_period_holds_one_tick(void **state)
{
	struct schedule schedule;

	(void)state;
	schedule_init(&schedule, 1000, PERIOD_NS, 42);
	for (uint64_t i = 0; i < 1000; i++) {
		assert_true(schedule.next_ns >= 1000 + i * PERIOD_NS);
		assert_true(schedule.next_ns < 1000 + (i + 1) * PERIOD_NS);
		schedule_advance(&schedule, schedule.next_ns);
	}
	assert_int_equal(schedule.nr_missed, 0);
}

static void test_schedule__ticks_are_spread_over_the_period(void **state)
{
	struct schedule schedule;
	unsigned int nr_by_quarter[4] = {0};

	(void)state;
	schedule_init(&schedule, 0, PERIOD_NS, 7);
	for (uint64_t i = 0; i < 4000; i++) {
		nr_by_quarter[schedule.next_ns % PERIOD_NS / (PERIOD_NS / 4)]++;
		schedule_advance(&schedule, schedule.next_ns);
	}
	/* 1000 each, standard deviation 27. */
	for (int i = 0; i < 4; i++)
		assert_in_range(nr_by_quarter[i], 850, 1150);
}

static void test_schedule__periods_that_nobody_used_are_counted_and_skipped(void **state)
{
	struct schedule schedule;

	(void)state;
	schedule_init(&schedule, 0, PERIOD_NS, 7);
	schedule_advance(&schedule, 10 * PERIOD_NS + 5);
	/* The first was used late; the nine after it are gone; the eleventh is the present one. */
	assert_int_equal(schedule.nr_missed, 9);
	assert_true(schedule.next_ns >= 10 * PERIOD_NS && schedule.next_ns < 11 * PERIOD_NS);
}

static void test_schedule__a_new_period_begins_where_the_old_one_ends(void **state)
{
	struct schedule schedule;

	(void)state;
	schedule_init(&schedule, 0, PERIOD_NS, 7);
	schedule_set_period(&schedule, 3 * PERIOD_NS);
	schedule_advance(&schedule, schedule.next_ns);
	assert_true(schedule.next_ns >= PERIOD_NS && schedule.next_ns < 4 * PERIOD_NS);
}

static void test_governor__lets_a_cheap_rate_be(void **state)
{
	struct governor governor;

	(void)state;
	governor_init(&governor, PERIOD_NS, 20000);
	assert_int_equal(governor_update(&governor, 1000000, 250000000), PERIOD_NS);
}

static void test_governor__cuts_a_rate_that_costs_too_much(void **state)
{
	struct governor governor;

	(void)state;
	governor_init(&governor, PERIOD_NS, 20000);
	/* 10 ms of 250 are 4 %, twice what is allowed. */
	assert_int_equal(governor_update(&governor, 10000000, 250000000), 2 * PERIOD_NS);
	/* Half the stops, half the cost. */
	assert_int_equal(governor_update(&governor, 5000000, 250000000), 2 * PERIOD_NS);
}

static void test_governor__raises_the_rate_in_steps_up_to_what_was_asked_for(void **state)
{
	struct governor governor;

	(void)state;
	governor_init(&governor, PERIOD_NS, 20000);
	governor_update(&governor, 10000000, 250000000);
	assert_int_equal(governor_update(&governor, 0, 250000000), 16 * PERIOD_NS / 10);
	for (int i = 0; i < 10; i++)
		governor_update(&governor, 0, 250000000);
	assert_int_equal(governor.period_ns, PERIOD_NS);
}

static void test_governor__zero_switches_it_off(void **state)
{
	struct governor governor;

	(void)state;
	governor_init(&governor, PERIOD_NS, 0);
	assert_int_equal(governor_update(&governor, 250000000, 250000000), PERIOD_NS);
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
		cmocka_unit_test(test_schedule__each_period_holds_one_tick),
		cmocka_unit_test(test_schedule__ticks_are_spread_over_the_period),
		cmocka_unit_test(test_schedule__periods_that_nobody_used_are_counted_and_skipped),
		cmocka_unit_test(test_schedule__a_new_period_begins_where_the_old_one_ends),
		cmocka_unit_test(test_governor__lets_a_cheap_rate_be),
		cmocka_unit_test(test_governor__cuts_a_rate_that_costs_too_much),
		cmocka_unit_test(test_governor__raises_the_rate_in_steps_up_to_what_was_asked_for),
		cmocka_unit_test(test_governor__zero_switches_it_off),
		cmocka_unit_test(test_histogram__quantiles_are_within_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
