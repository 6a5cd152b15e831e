// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/idle.h"
#include "proc/uptime.h"
#include "tests/unit/unit.h"

static void judge(struct idle_meter *meter, uint64_t after_cs, uint64_t idle_cs)
{
	struct proc_uptime now = {.uptime_cs = meter->last.uptime_cs + after_cs,
				  .idle_cs = meter->last.idle_cs + idle_cs};

	idle_meter_judge(meter, &now);
}

TEST(idle_meter, needs_more_than_half_a_cpu)
{
	struct idle_meter meter = {
		.fd = -1, .stat_fd = -1, .last = {.uptime_cs = 1000, .idle_cs = 500}};

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
TEST(idle_meter, waits_for_a_long_enough_interval)
{
	struct idle_meter meter = {
		.fd = -1, .stat_fd = -1, .last = {.uptime_cs = 1000, .idle_cs = 500}};

	judge(&meter, 3, 3);
	assert_false(meter.some_idle);
	assert_int_equal(meter.last.uptime_cs, 1000);
	judge(&meter, 9, 9);
	assert_true(meter.some_idle);
}

TEST(idle_meter, survives_clocks_that_go_back)
{
	struct idle_meter meter = {
		.fd = -1, .stat_fd = -1, .last = {.uptime_cs = 1000, .idle_cs = 500}};
	struct proc_uptime now = {.uptime_cs = 1020, .idle_cs = 400};

	meter.some_idle = true;
	idle_meter_judge(&meter, &now);
	assert_false(meter.some_idle);
	now.uptime_cs = 900;
	idle_meter_judge(&meter, &now);
	assert_int_equal(meter.last.uptime_cs, 1020);
}

static bool idle_of(const char *text, size_t cpu, size_t other, uint64_t *ticks)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	CPU_SET(other, &cpus);
	return proc_idle_of_cpus_parse(text, strlen(text), &cpus, ticks);
}

TEST(idle_of_cpus, is_that_of_these_alone)
{
	static const char text[] = "cpu  10 20 30 400 50 6 7 0 0 0\n"
				   "cpu0 1 2 3 40 5 6 7 0 0 0\n"
				   "cpu1 1 2 3 100 20 6 7 0 0 0\n"
				   "cpu10 1 2 3 1000 200 6 7 0 0 0\n"
				   "intr 8885920 9 0\n";
	uint64_t ticks = 7;

	assert_true(idle_of(text, 0, 0, &ticks));
	assert_int_equal(ticks, 45);
	assert_true(idle_of(text, 1, 10, &ticks));
	assert_int_equal(ticks, 1320);
	/* One that is not there, and lines that are cut or are none of a CPU's. */
	assert_true(idle_of(text, 0, 2, &ticks));
	assert_int_equal(ticks, 45);
	assert_false(idle_of(text, 2, 3, &ticks));
	assert_false(idle_of("cpu  1 2 3 4 5\ncpu0 1 2 3 40 5", 0, 0, &ticks));
	assert_false(idle_of("cpu0 1 2 3 40 5 6\n", 0, 0, &ticks));
	assert_false(idle_of("", 0, 0, &ticks));
	assert_int_equal(ticks, 45);
}
