// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calltree/tally.h"

/* nr samples of 1 ms of CPU time. */
static struct tally equal_samples(unsigned int nr)
{
	const struct sample sample = {.cpu_ns = 1000000, .nr = 1};
	struct tally tally = {0};

	for (unsigned int i = 0; i < nr; i++)
		tally_add_sample(&tally, &sample, METRIC_CPU, 1000000);
	return tally;
}

static void test_tally__interval_of_equal_weights_is_wilson(void **state)
{
	static const struct {
		unsigned int part, whole;
		double expected; /* half-width of Wilson's interval, percentage points */
	} cases[] = {
		{50, 100, 9.617},  {300, 1000, 2.836}, {0, 100, 1.850},
		{100, 100, 1.850}, {1, 4, 32.689},     {5000, 10000, 0.980},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tally part = equal_samples(cases[i].part);
		struct tally whole = equal_samples(cases[i].whole);

		assert_float_equal(tally_interval(&part, &whole), cases[i].expected, 0.002);
	}
}

static void test_tally__equal_observations_in_one_row_count_each(void **state)
{
	const struct sample ten = {.cpu_ns = 10000000, .nr = 10};
	struct tally part = {0}, whole = equal_samples(20);

	(void)state;
	tally_add_sample(&part, &ten, METRIC_CPU, 1000000);
	tally_add(&whole, &part);
	assert_int_equal(part.samples, 10);
	assert_float_equal(tally_percent(&part, &whole), 100.0 / 3, 0.001);
	assert_float_equal(tally_interval(&part, &whole),
			   tally_interval(&(struct tally){10000000, 10, 10e12},
					  &(struct tally){30000000, 30, 30e12}),
			   0.001);
}

static void test_tally__few_heavy_samples_widen_the_interval(void **state)
{
	const struct sample heavy = {.cpu_ns = 50000000, .nr = 1};
	struct tally part = {0}, whole = equal_samples(50);

	(void)state;
	tally_add_sample(&part, &heavy, METRIC_CPU, 1000000);
	tally_add(&whole, &part);
	/* Half of the time hangs on one look. */
	assert_float_equal(tally_percent(&part, &whole), 50, 0.001);
	assert_true(tally_interval(&part, &whole) > 30);
}

static void test_tally__a_long_sleep_is_known_not_estimated(void **state)
{
	const struct sample sleep = {.blocked_ns = 900000000, .nr = 1, .kind = SAMPLE_BLOCKED};
	struct tally part = {0}, whole = {0};
	struct sample other = {.blocked_ns = 1000000, .nr = 1, .kind = SAMPLE_BLOCKED};

	(void)state;
	tally_add_sample(&part, &sleep, METRIC_BLOCKED, 1000000);
	tally_add(&whole, &part);
	for (int i = 0; i < 100; i++)
		tally_add_sample(&whole, &other, METRIC_BLOCKED, 1000000);
	assert_float_equal(tally_percent(&part, &whole), 90, 0.001);
	assert_true(tally_interval(&part, &whole) < 2);
}

static void test_tally__without_samples_nothing_is_sure(void **state)
{
	const struct sample lost = {.cpu_ns = 5, .nr = 0, .kind = SAMPLE_UNATTRIBUTED};
	struct tally none = {0};

	(void)state;
	assert_float_equal(tally_percent(&none, &none), 0, 0);
	assert_float_equal(tally_interval(&none, &none), 100, 0);
	tally_add_sample(&none, &lost, METRIC_CPU, 1000000);
	assert_int_equal(none.weight, 5);
	assert_float_equal(tally_interval(&none, &none), 100, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tally__interval_of_equal_weights_is_wilson),
		cmocka_unit_test(test_tally__equal_observations_in_one_row_count_each),
		cmocka_unit_test(test_tally__few_heavy_samples_widen_the_interval),
		cmocka_unit_test(test_tally__a_long_sleep_is_known_not_estimated),
		cmocka_unit_test(test_tally__without_samples_nothing_is_sure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
