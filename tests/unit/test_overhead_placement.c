// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "overhead/placement.h"

/* On a machine of `nr_cpus` CPUs, whatever the one we run on has. */
static struct placement placement_on(size_t nr_cpus, bool realtime)
{
	struct placement placement;

	placement_init(&placement, realtime, 1);
	CPU_ZERO(&placement.allowed);
	for (size_t cpu = 0; cpu < nr_cpus; cpu++)
		CPU_SET(cpu, &placement.allowed);
	placement_begin_tick(&placement);
	return placement;
}

#define RUNS  true
#define CALLS true

static void test_placement__leaves_the_cpu_to_a_thread_without_calls(void **state)
{
	struct placement placement = placement_on(2, true);
	int cpu;

	(void)state;
	placement_saw(&placement, 0, RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_AWAY);
	assert_int_equal(cpu, 1);
}

static void test_placement__stays_away_where_it_is(void **state)
{
	struct placement placement = placement_on(8, true);
	int cpu;

	(void)state;
	placement.cpu = 5;
	placement_saw(&placement, 0, RUNS, !CALLS);
	placement_saw(&placement, 3, RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_AWAY);
	assert_int_equal(cpu, 5);
	placement_saw(&placement, 5, RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_AWAY);
	assert_int_equal(cpu, 1);
}

static void test_placement__goes_beside_a_thread_that_makes_calls(void **state)
{
	struct placement placement = placement_on(4, true);
	int cpu;

	(void)state;
	placement_saw(&placement, 2, RUNS, CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_BESIDE);
	assert_int_equal(cpu, 2);
}

static void test_placement__goes_beside_where_no_cpu_is_idle(void **state)
{
	struct placement placement = placement_on(2, true);
	int cpu;

	(void)state;
	placement_saw(&placement, 1, RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, false, &cpu), PLACEMENT_BESIDE);
	assert_int_equal(cpu, 1);
	/* Or where the target has them all. */
	placement_saw(&placement, 0, RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_BESIDE);
}

/* Without priority it would be woken only after a burst of the target on its CPU. */
static void test_placement__is_never_beside_without_realtime_priority(void **state)
{
	struct placement placement = placement_on(2, false);
	int cpu;

	(void)state;
	placement_saw(&placement, 1, RUNS, CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_ANYWHERE);
	assert_int_equal(cpu, -1);
	placement_begin_tick(&placement);
	placement_saw(&placement, 1, RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_AWAY);
	assert_int_equal(cpu, 0);
}

/* It would be woken there only when their next burst is over. */
static void test_placement__keeps_off_the_cpus_of_sleepers(void **state)
{
	struct placement placement = placement_on(2, false);
	int cpu;

	(void)state;
	placement.cpu = 0;
	placement_saw(&placement, 0, !RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_AWAY);
	assert_int_equal(cpu, 1);
	/* If they are everywhere, the scheduler may choose; at real-time priority it is all one. */
	placement_saw(&placement, 1, !RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_ANYWHERE);
	placement.realtime = true;
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_AWAY);
	assert_int_equal(cpu, 0);
}

/* The timer of a tick would end sleeps on its CPU that are nearly over. */
static void test_placement__leaves_the_cpu_to_sleepers_where_none_is_idle(void **state)
{
	struct placement placement = placement_on(2, true);
	int cpu;

	(void)state;
	placement_saw(&placement, 1, !RUNS, CALLS);
	assert_int_equal(placement_choose(&placement, false, &cpu), PLACEMENT_AWAY);
	assert_int_equal(cpu, 0);
	placement_saw(&placement, 1, RUNS, CALLS);
	assert_int_equal(placement_choose(&placement, false, &cpu), PLACEMENT_BESIDE);
	assert_int_equal(cpu, 1);
}

static void test_placement__stays_when_nobody_was_seen(void **state)
{
	struct placement placement = placement_on(2, true);
	int cpu;

	(void)state;
	placement.kind = PLACEMENT_BESIDE;
	placement.cpu = 1;
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_BESIDE);
	assert_int_equal(cpu, 1);
}

static void test_placement__chooses_among_cpus_with_equal_chances(void **state)
{
	struct placement placement = placement_on(4, true);
	int nr[4] = {0};

	(void)state;
	for (int tick = 0; tick < 4000; tick++) {
		int cpu;

		placement_begin_tick(&placement);
		for (int i = 0; i < 4; i++)
			placement_saw(&placement, i, RUNS, CALLS);
		placement_choose(&placement, true, &cpu);
		nr[cpu]++;
	}
	for (int i = 0; i < 4; i++)
		assert_in_range(nr[i], 880, 1120); /* 1000 and more than four deviations */
}

/* The CPU it would stay on after `nr_stays` ticks there, on one of two that the target has. */
static int next_cpu(int cpu, uint32_t nr_stays, bool makes_calls, int candidate)
{
	struct placement placement = placement_on(2, true);
	int next;

	placement.cpu = cpu;
	placement.nr_stays = nr_stays;
	placement_saw(&placement, 0, RUNS, makes_calls);
	placement_saw(&placement, 1, RUNS, makes_calls);
	placement.candidate = candidate;
	assert_int_equal(placement_choose(&placement, false, &next), PLACEMENT_BESIDE);
	return next;
}

static void test_placement__moves_rarely_among_threads_without_calls(void **state)
{
	(void)state;
	assert_int_equal(next_cpu(0, 1, !CALLS, 1), 0);
	assert_int_equal(next_cpu(1, 31, !CALLS, 0), 1);
	assert_int_equal(next_cpu(0, 32, !CALLS, 1), 1);
	assert_int_equal(next_cpu(0, 1, CALLS, 1), 1);
}

static void test_placement__ignores_unknown_cpus(void **state)
{
	struct placement placement = placement_on(2, true);
	int cpu;

	(void)state;
	placement_saw(&placement, -1, RUNS, CALLS);
	placement_saw(&placement, CPU_SETSIZE, RUNS, CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_ANYWHERE);
	assert_int_equal(cpu, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_placement__leaves_the_cpu_to_a_thread_without_calls),
		cmocka_unit_test(test_placement__stays_away_where_it_is),
		cmocka_unit_test(test_placement__goes_beside_a_thread_that_makes_calls),
		cmocka_unit_test(test_placement__goes_beside_where_no_cpu_is_idle),
		cmocka_unit_test(test_placement__is_never_beside_without_realtime_priority),
		cmocka_unit_test(test_placement__keeps_off_the_cpus_of_sleepers),
		cmocka_unit_test(test_placement__leaves_the_cpu_to_sleepers_where_none_is_idle),
		cmocka_unit_test(test_placement__stays_when_nobody_was_seen),
		cmocka_unit_test(test_placement__chooses_among_cpus_with_equal_chances),
		cmocka_unit_test(test_placement__moves_rarely_among_threads_without_calls),
		cmocka_unit_test(test_placement__ignores_unknown_cpus),
	};

	return cmocka_run_group_tests_name("overhead/placement", tests, NULL, NULL);
}
