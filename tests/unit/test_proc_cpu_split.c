// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/cpu_split.h"
#include "proc/task.h"
#include "tests/unit/unit.h"

TEST(cpu_split, counts_the_parts_that_count)
{
	struct proc_cpu_split at_10 = {.user_ns = 10, .system_ns = 1};
	struct proc_cpu_split at_30 = {.user_ns = 28, .system_ns = 4};
	struct proc_cpu_split at_50 = {.user_ns = 29, .system_ns = 24}, sum = {0};
	struct cpu_split_meter meter = {0};

	cpu_split_meter_rest(&meter, &at_10, 0);
	cpu_split_meter_rest(&meter, &at_30, 0); /* it rests already */
	assert_true(cpu_split_meter_sum(&meter, &sum));
	assert_int_equal(sum.user_ns, 10);
	cpu_split_meter_begin(&meter, &at_30);
	cpu_split_meter_rest(&meter, &at_50, 0);
	assert_true(cpu_split_meter_sum(&meter, &sum));
	assert_int_equal(sum.user_ns, 10 + 1);
	assert_int_equal(sum.system_ns, 1 + 20);
}

TEST(cpu_split, what_was_not_read_is_not_known)
{
	struct proc_cpu_split now = {.user_ns = 10, .system_ns = 1}, sum;
	struct cpu_split_meter at_end = {0}, at_begin = {0}, less_than_a_tick = {0};

	cpu_split_meter_rest(&at_end, NULL, 0);
	assert_false(cpu_split_meter_sum(&at_end, &sum));
	cpu_split_meter_begin(&at_begin, NULL);
	cpu_split_meter_rest(&at_begin, &now, 0);
	assert_false(cpu_split_meter_sum(&at_begin, &sum));
	cpu_split_meter_rest(&less_than_a_tick, &(struct proc_cpu_split){0}, 0);
	assert_false(cpu_split_meter_sum(&less_than_a_tick, &sum));
}

TEST(cpu_split, what_is_cut_off_is_given_to_both)
{
	const uint64_t tick_ns = PROC_CPU_SPLIT_LEAST_NS;
	struct proc_cpu_split now = {.user_ns = 5 * tick_ns, .system_ns = tick_ns}, sum = {0};
	struct cpu_split_meter meter = {0}, early = {0}, brief = {0};

	cpu_split_meter_rest(&meter, &now, 7 * tick_ns + 1);
	assert_true(cpu_split_meter_sum(&meter, &sum));
	assert_int_equal(sum.user_ns, 5 * tick_ns + tick_ns / 2);
	assert_int_equal(sum.system_ns, tick_ns + tick_ns / 2 + 1);
	/* More is missing than the kernel cuts off: that is not known. */
	cpu_split_meter_rest(&early, &now, 9 * tick_ns);
	assert_true(cpu_split_meter_sum(&early, &sum));
	assert_int_equal(sum.user_ns, 5 * tick_ns);
	assert_int_equal(sum.system_ns, tick_ns);
	cpu_split_meter_rest(&brief, &(struct proc_cpu_split){0}, tick_ns / 2);
	assert_false(cpu_split_meter_sum(&brief, &sum));
}

/* The kernel falls behind by a tick when it scales. */
TEST(cpu_split, never_runs_backwards)
{
	struct proc_cpu_split before = {.user_ns = 20, .system_ns = 10};
	struct proc_cpu_split after = {.user_ns = 50, .system_ns = 9}, sum;
	struct cpu_split_meter meter = {0};

	cpu_split_meter_begin(&meter, &before);
	cpu_split_meter_rest(&meter, &after, 0);
	assert_true(cpu_split_meter_sum(&meter, &sum));
	assert_int_equal(sum.user_ns, 30);
	assert_int_equal(sum.system_ns, 0);
}

static void assert_rest(uint64_t known_user_ns, uint64_t known_system_ns, uint64_t user_ns,
			uint64_t system_ns)
{
	const struct proc_cpu_split all = {.user_ns = 100, .system_ns = 50};
	struct proc_cpu_split known = {.user_ns = known_user_ns, .system_ns = known_system_ns};
	struct proc_cpu_split rest = proc_cpu_split_rest(&all, &known);

	assert_int_equal(rest.user_ns, user_ns);
	assert_int_equal(rest.system_ns, system_ns);
}

TEST(cpu_split, the_rest_makes_the_sum_whole)
{
	assert_rest(0, 0, 100, 50);
	assert_rest(70, 40, 30, 10);
	/* More of one part is known than there is, by rounding. */
	assert_rest(105, 30, 0, 15);
	assert_rest(70, 55, 25, 0);
	assert_rest(110, 60, 0, 0);
}

static struct proc_cpu_split used_by(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (struct proc_cpu_split){
		.user_ns = (uint64_t)usage.ru_utime.tv_sec * NS_PER_SEC +
			   (uint64_t)usage.ru_utime.tv_usec * 1000,
		.system_ns = (uint64_t)usage.ru_stime.tv_sec * NS_PER_SEC +
			     (uint64_t)usage.ru_stime.tv_usec * 1000,
	};
}

/*
 * The kernel keeps apart how it has divided the time of a thread and of its process before, so that
 * neither part decreases: each is compared with the same one. Between two readings both only grow.
 */
static void assert_is_split_of(pid_t tid, int who)
{
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	struct proc_cpu_split before = used_by(who), split, after;

	assert_true(proc_read_cpu_split(getpid(), tid, &split));
	after = used_by(who);
	assert_in_range(split.user_ns, before.user_ns / tick_ns * tick_ns, after.user_ns);
	assert_in_range(split.system_ns, before.system_ns / tick_ns * tick_ns, after.system_ns);
}

TEST(cpu_split, of_ourselves_is_what_getrusage_says)
{
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	volatile unsigned long spun = 0;
	struct proc_cpu_split split;

	do {
		for (int i = 0; i < 1000000; i++)
			spun = spun + (unsigned long)i;
	} while (used_by(RUSAGE_SELF).user_ns < 3 * tick_ns);
	assert_is_split_of(getpid(), RUSAGE_THREAD);
	assert_is_split_of(0, RUSAGE_SELF);
	assert_false(proc_read_cpu_split(INT32_MAX, 0, &split));
}

TEST(cpu_split, of_children_is_both_times_in_ns)
{
	static const char text[] =
		"4711 (a) S 17 4711 4700 0 -1 4194304 9 0 0 0 1 2 30 4 20 0 3 0 8675309 "
		"12345 67 18446744073709551615 1 1 140737 0 0 0 0 0 0 0 0 0 17 3 0 0\n";
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	struct proc_stat stat;

	assert_true(proc_stat_parse(text, strlen(text), &stat));
	assert_int_equal(proc_cpu_of_children(&stat), 34 * tick_ns);
}
