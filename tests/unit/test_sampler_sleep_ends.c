// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "proc/task.h"
#include "sampler/sampler_priv.h"

#define MS NS_PER_MS

/* Last seen asleep then; looked at once in a millisecond. */
#define ASLEEP_NS (1000 * MS)

static const struct sampler sampler = {.governor = {.base_period_ns = MS}};

static struct sampled_thread sleeper(bool rested)
{
	return (struct sampled_thread){
		.was_seen = true,
		.asleep = true,
		.rested = rested,
		.pcount = 5,
		.slept_from_ns = ASLEEP_NS,
		.slept_until_ns = ASLEEP_NS,
	};
}

/* It woke once, has waited for a CPU and run since. */
static const struct proc_schedstat woken = {.cpu_ns = 2 * MS, .runq_ns = MS, .pcount = 6};

static void test_rest_of_a_sleep_is_owed_to_the_next_look_at_one(void **state)
{
	struct sampled_thread thread = sleeper(false);

	(void)state;
	look_found_awake(&sampler, &thread, &woken, ASLEEP_NS + 10 * MS);
	assert_int_equal(thread.nr_slept, 0);
	assert_int_equal(thread.slept_until_ns, ASLEEP_NS);
}

static void test_rest_of_the_last_sleep_is_its_own(void **state)
{
	struct sampled_thread thread = sleeper(false);

	(void)state;
	look_found_awake(&sampler, &thread, &woken, ASLEEP_NS + 4 * MS);
	thread.asleep = false; /* it stopped for that, and has not been seen asleep since */
	look_slept_until_end(&sampler, &thread, &woken, ASLEEP_NS + 6 * MS);
	assert_int_equal(thread.nr_slept, 1);
}

static void test_nobody_else_has_slept_at_the_end(void **state)
{
	struct sampled_thread thread = sleeper(false);

	(void)state;
	thread.asleep = false;
	look_slept_until_end(&sampler, &thread, &woken, ASLEEP_NS + 6 * MS);
	assert_int_equal(thread.nr_slept, 0);
}

static void test_who_rested_slept_until_it_woke(void **state)
{
	struct sampled_thread thread = sleeper(true);

	(void)state;
	look_found_awake(&sampler, &thread, &woken, ASLEEP_NS + 10 * MS);
	assert_int_equal(thread.nr_slept, 1);
	assert_int_equal(thread.slept_until_ns, ASLEEP_NS + 7 * MS);
}

static void test_end_after_one_wake_tells_when_that_was(void **state)
{
	struct sampled_thread thread = sleeper(false);

	(void)state;
	look_slept_until_end(&sampler, &thread, &woken, ASLEEP_NS + 10 * MS);
	assert_int_equal(thread.nr_slept, 1);
	assert_int_equal(thread.slept_until_ns, ASLEEP_NS + 7 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rest_of_a_sleep_is_owed_to_the_next_look_at_one),
		cmocka_unit_test(test_rest_of_the_last_sleep_is_its_own),
		cmocka_unit_test(test_nobody_else_has_slept_at_the_end),
		cmocka_unit_test(test_who_rested_slept_until_it_woke),
		cmocka_unit_test(test_end_after_one_wake_tells_when_that_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
