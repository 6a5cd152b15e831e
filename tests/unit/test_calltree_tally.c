// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "calltree/tally.h"
#include "tests/unit/unit.h"

/* nr samples of 1 ms of CPU time. */
static struct tally equal_samples(unsigned int nr)
{
	const struct sample sample = {.cpu_ns = 1000000, .nr = 1};
	struct tally tally = {0};

	for (unsigned int i = 0; i < nr; i++)
		tally_add_sample(&tally, &sample, METRIC_CPU);
	return tally;
}

TEST(tally, interval_of_equal_weights_is_wilson)
{
	static const struct {
		unsigned int part, whole;
		double expected; /* half-width of Wilson's interval, percentage points */
	} cases[] = {
		{50, 100, 9.617}, {300, 1000, 2.836},	{0, 100, 1.850}, {100, 100, 1.850},
		{1, 4, 32.689},	  {5000, 10000, 0.980}, {1, 1, 39.673},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tally part = equal_samples(cases[i].part);
		struct tally whole = equal_samples(cases[i].whole);

		assert_float_equal(tally_interval(&part, &whole), cases[i].expected, 0.002);
	}
}

TEST(tally, equal_observations_in_one_row_count_each)
{
	const struct sample ten = {.cpu_ns = 10000000, .nr = 10};
	struct tally part = {0}, whole = equal_samples(20);

	tally_add_sample(&part, &ten, METRIC_CPU);
	tally_add(&whole, &part);
	assert_int_equal(part.samples, 10);
	assert_float_equal(tally_percent(&part, &whole), 100.0 / 3, 0.001);
	assert_float_equal(
		tally_interval(&part, &whole),
		tally_interval(&(struct tally){10000000, 10, 10e12, 0, 0, 0, 0, 0, 0, 0},
			       &(struct tally){30000000, 30, 30e12, 0, 0, 0, 0, 0, 0, 0}),
		0.001);
}

TEST(tally, few_heavy_samples_widen_the_interval)
{
	const struct sample heavy = {.cpu_ns = 50000000, .nr = 1};
	struct tally part = {0}, whole = equal_samples(50);

	tally_add_sample(&part, &heavy, METRIC_CPU);
	tally_add(&whole, &part);
	/* Half of the time hangs on one look. */
	assert_float_equal(tally_percent(&part, &whole), 50, 0.001);
	assert_true(tally_interval(&part, &whole) > 30);
}

TEST(tally, a_long_sleep_is_known_not_estimated)
{
	const struct sample sleep = {.blocked_ns = 900000000, .nr = 0, .kind = SAMPLE_BLOCKED};
	struct tally part = {0}, whole = {0};
	struct sample other = {.blocked_ns = 1000000, .nr = 1, .kind = SAMPLE_BLOCKED};

	tally_add_sample(&part, &sleep, METRIC_BLOCKED);
	tally_add(&whole, &part);
	for (int i = 0; i < 100; i++)
		tally_add_sample(&whole, &other, METRIC_BLOCKED);
	assert_float_equal(tally_percent(&part, &whole), 90, 0.001);
	assert_true(tally_interval(&part, &whole) < 2);
}

/* A program of 150 ms that was looked at once, early: its rest makes that look no surer. */
TEST(tally, one_look_of_one_is_a_guess_whatever_comes_after_it)
{
	const struct sample look = {.cpu_ns = 1000000, .nr = 1};
	const struct sample rest = {.cpu_ns = 149000000, .nr = 0};
	struct tally whole = {0};

	tally_add_sample(&whole, &look, METRIC_CPU);
	tally_add_sample(&whole, &rest, METRIC_CPU);
	assert_int_equal(whole.samples, 1);
	assert_float_equal(tally_interval(&whole, &whole), 39.673, 0.002);
}

/* The time after the last look hangs on that look, as that of any look does. */
TEST(tally, a_heavy_rest_widens_the_interval)
{
	const struct sample rest = {.cpu_ns = 100000000, .nr = 0};
	struct tally part = equal_samples(1), whole = equal_samples(99);

	tally_add_sample(&part, &rest, METRIC_CPU);
	tally_add(&whole, &part);
	assert_true(tally_interval(&part, &whole) > 30);
}

/* A thread that keeps profc from running is seen thrice, for a thousandth of its time. */
TEST(tally, time_that_nobody_saw_makes_nothing_surer)
{
	const struct sample lost = {.cpu_ns = 3000000000, .nr = 0, .kind = SAMPLE_UNATTRIBUTED};
	struct tally part = {0}, seen = equal_samples(3), whole = seen;

	tally_add_sample(&part, &lost, METRIC_CPU);
	tally_add(&whole, &part);
	assert_true(tally_interval(&part, &whole) > 25);
	assert_true(tally_interval(&seen, &whole) > 25);
}

TEST(tally, unattributed_time_has_an_interval)
{
	const struct sample lost = {.cpu_ns = 5000000, .nr = 0, .kind = SAMPLE_UNATTRIBUTED};
	struct tally part = {0}, whole = equal_samples(95);

	tally_add_sample(&part, &lost, METRIC_CPU);
	tally_add(&whole, &part);
	assert_float_equal(tally_percent(&part, &whole), 5, 0.001);
	assert_in_range((unsigned)(100 * tally_interval(&part, &whole)), 100, 600);
}

TEST(tally, no_interval_is_below_a_tenth)
{
	const struct sample many = {.cpu_ns = 1000000000000, .nr = 1000000};
	const struct sample one = {.cpu_ns = 1000000, .nr = 1};
	const struct sample sleep = {.blocked_ns = 900000000, .nr = 0, .kind = SAMPLE_BLOCKED};
	const struct sample one_sleep = {.blocked_ns = 1000, .nr = 1, .kind = SAMPLE_BLOCKED};
	struct tally part = {0}, whole = {0}, asleep = {0};

	tally_add_sample(&part, &one, METRIC_CPU);
	tally_add_sample(&whole, &many, METRIC_CPU);
	tally_add(&whole, &part);
	assert_float_equal(tally_interval(&part, &whole), 0.1, 1e-9);
	tally_add_sample(&asleep, &sleep, METRIC_BLOCKED);
	tally_add_sample(&asleep, &one_sleep, METRIC_BLOCKED);
	assert_float_equal(tally_interval(&asleep, &asleep), 0.1, 1e-9);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* A recording of `nr` looks at exponential gaps: is the true share within its interval? */
static bool covers(uint64_t *state, unsigned int nr, double share)
{
	struct tally part = {0}, whole = {0};

	for (unsigned int i = 0; i < nr; i++) {
		double uniform = ((double)next_random(state) + 0.5) / (double)(1u << 31);
		struct sample look = {.cpu_ns = (uint64_t)(-log(uniform) * 2e6) + 1, .nr = 1};
		struct tally one = {0};

		tally_add_sample(&one, &look, METRIC_CPU);
		tally_add(&whole, &one);
		if ((double)next_random(state) < share * (double)(1u << 31))
			tally_add(&part, &one);
	}
	return fabs(tally_percent(&part, &whole) - 100 * share) <= tally_interval(&part, &whole);
}

TEST(tally, nineteen_of_twenty_intervals_hold_the_truth)
{
	static const double shares[] = {0.02, 0.1, 0.25, 0.5, 0.9};
	static const unsigned int numbers[] = {100, 1000};
	uint64_t random = 1;

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		for (size_t j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++) {
			unsigned int nr_covered = 0;

			for (unsigned int round = 0; round < 1000; round++)
				nr_covered += covers(&random, numbers[j], shares[i]);
			assert_in_range(nr_covered, 925, 1000);
		}
	}
}

TEST(tally, without_samples_nothing_is_sure)
{
	const struct sample lost = {.cpu_ns = 5, .nr = 0, .kind = SAMPLE_UNATTRIBUTED};
	struct tally none = {0};

	assert_float_equal(tally_percent(&none, &none), 0, 0);
	assert_float_equal(tally_interval(&none, &none), 100, 0);
	tally_add_sample(&none, &lost, METRIC_CPU);
	assert_int_equal(none.weight, 5);
	assert_float_equal(tally_interval(&none, &none), 100, 0);
}
