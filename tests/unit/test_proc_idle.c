// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proc/idle.h"

static void judge(struct idle_meter *meter, uint64_t after_cs, uint64_t idle_cs)
{
	struct proc_uptime now = {.uptime_cs = meter->last.uptime_cs + after_cs,
				  .idle_cs = meter->last.idle_cs + idle_cs};

	idle_meter_judge(meter, &now);
}

static void test_idle_meter__needs_more_than_half_a_cpu(void **state)
{
	struct idle_meter meter = {
		.fd = -1, .stat_fd = -1, .last = {.uptime_cs = 1000, .idle_cs = 500}};

	(void)state;
	judge(&meter, 10, 5);
	assert_false(meter.some_idle);
	judge(&meter, 10, 6);
	assert_true(meter.some_idle);
	judge(&meter, 10, 5);
	assert_true(meter.some_idle);
	judge(&meter, 10, 3);
	assert_false(meter.some_idle);
	judge(&meter, 10, 620); /* on a large machine */
	assert_true(meter.some_idle);
}

/* Hundredths of a second say nothing about a few of them. */
static void test_idle_meter__waits_for_a_long_enough_interval(void **state)
{
	struct idle_meter meter = {
		.fd = -1, .stat_fd = -1, .last = {.uptime_cs = 1000, .idle_cs = 500}};

	(void)state;
	judge(&meter, 3, 3);
	assert_false(meter.some_idle);
	assert_int_equal(meter.last.uptime_cs, 1000);
	judge(&meter, 9, 9);
	assert_true(meter.some_idle);
}

static void test_idle_meter__survives_clocks_that_go_back(void **state)
{
	struct idle_meter meter = {
		.fd = -1, .stat_fd = -1, .last = {.uptime_cs = 1000, .idle_cs = 500}};
	struct proc_uptime now = {.uptime_cs = 1020, .idle_cs = 400};

	(void)state;
	meter.some_idle = true;
	idle_meter_judge(&meter, &now);
	assert_false(meter.some_idle);
	now.uptime_cs = 900;
	idle_meter_judge(&meter, &now);
	assert_int_equal(meter.last.uptime_cs, 1020);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_meter__needs_more_than_half_a_cpu),
		cmocka_unit_test(test_idle_meter__waits_for_a_long_enough_interval),
		cmocka_unit_test(test_idle_meter__survives_clocks_that_go_back),
	};

	return cmocka_run_group_tests_name("proc/idle", tests, NULL, NULL);
}
