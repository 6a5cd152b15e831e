// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "overhead/placement.h"
#include "tests/unit/unit.h"

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

TEST(placement, leaves_the_cpu_to_a_thread_without_calls)
{
	struct placement placement = placement_on(2, true);
	int cpu;

	placement_saw(&placement, 0, RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_AWAY);
	assert_int_equal(cpu, 1);
}

TEST(placement, stays_away_where_it_is)
{
	struct placement placement = placement_on(8, true);
	int cpu;

	placement.cpu = 5;
	placement_saw(&placement, 0, RUNS, !CALLS);
	placement_saw(&placement, 3, RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_AWAY);
	assert_int_equal(cpu, 5);
	placement_saw(&placement, 5, RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_AWAY);
	assert_int_equal(cpu, 1);
}

TEST(placement, goes_beside_a_thread_that_makes_calls)
{
	struct placement placement = placement_on(4, true);
	int cpu;

	placement_saw(&placement, 2, RUNS, CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_BESIDE);
	assert_int_equal(cpu, 2);
}

TEST(placement, goes_beside_where_no_cpu_is_idle)
{
	struct placement placement = placement_on(2, true);
	int cpu;

	placement_saw(&placement, 1, RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, false, &cpu), PLACEMENT_BESIDE);
	assert_int_equal(cpu, 1);
	/* Or where the target has them all. */
	placement_saw(&placement, 0, RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_BESIDE);
}

/* Without priority it would be woken only after a burst of the target on its CPU. */
TEST(placement, is_never_beside_without_realtime_priority)
{
	struct placement placement = placement_on(2, false);
	int cpu;

	placement_saw(&placement, 1, RUNS, CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_ANYWHERE);
	assert_int_equal(cpu, -1);
	placement_begin_tick(&placement);
	placement_saw(&placement, 1, RUNS, !CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_AWAY);
	assert_int_equal(cpu, 0);
}

/* It would be woken there only when their next burst is over. */
TEST(placement, keeps_off_the_cpus_of_sleepers)
{
	struct placement placement = placement_on(2, false);
	int cpu;

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
TEST(placement, leaves_the_cpu_to_sleepers_where_none_is_idle)
{
	struct placement placement = placement_on(2, true);
	int cpu;

	placement_saw(&placement, 1, !RUNS, CALLS);
	assert_int_equal(placement_choose(&placement, false, &cpu), PLACEMENT_AWAY);
	assert_int_equal(cpu, 0);
	placement_saw(&placement, 1, RUNS, CALLS);
	assert_int_equal(placement_choose(&placement, false, &cpu), PLACEMENT_BESIDE);
	assert_int_equal(cpu, 1);
}

/* Each move takes time from two CPUs, and neighbours come and go within a tick. */
TEST(placement, takes_no_thread_for_a_sleeper_that_waits_for_its_cpu)
{
	assert_true(placement_runs_much(250, 1000, false));
	assert_false(placement_runs_much(249, 1000, false));
	assert_true(placement_runs_much(0, 1000, true));
}

TEST(placement, stays_when_nobody_was_seen)
{
	struct placement placement = placement_on(2, true);
	int cpu;

	placement.kind = PLACEMENT_BESIDE;
	placement.cpu = 1;
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_BESIDE);
	assert_int_equal(cpu, 1);
}

TEST(placement, chooses_among_cpus_with_equal_chances)
{
	struct placement placement = placement_on(4, true);
	int nr[4] = {0};

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

TEST(placement, moves_rarely_among_threads_without_calls)
{
	assert_int_equal(next_cpu(0, 1, !CALLS, 1), 0);
	assert_int_equal(next_cpu(1, 31, !CALLS, 0), 1);
	assert_int_equal(next_cpu(0, 32, !CALLS, 1), 1);
	assert_int_equal(next_cpu(0, 1, CALLS, 1), 1);
}

TEST(placement, ignores_unknown_cpus)
{
	struct placement placement = placement_on(2, true);
	int cpu;

	placement_saw(&placement, -1, RUNS, CALLS);
	placement_saw(&placement, CPU_SETSIZE, RUNS, CALLS);
	assert_int_equal(placement_choose(&placement, true, &cpu), PLACEMENT_ANYWHERE);
	assert_int_equal(cpu, -1);
}

TEST(placement, says_what_the_thread_is_bound_to)
{
	struct placement placement = placement_on(2, true);
	cpu_set_t cpus;

	assert_true(placement_move(&placement, PLACEMENT_BESIDE, 1, &cpus));
	assert_int_equal(CPU_COUNT(&cpus), 1);
	assert_true(CPU_ISSET(1, &cpus));
	assert_false(placement_move(&placement, PLACEMENT_BESIDE, 1, &cpus));
	assert_int_equal(placement.nr_stays, 1);
	assert_true(placement_move(&placement, PLACEMENT_ANYWHERE, -1, &cpus));
	assert_true(CPU_EQUAL(&cpus, &placement.allowed));
	assert_int_equal(placement.nr_stays, 0);
}
