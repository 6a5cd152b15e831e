// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "base/histogram.h"
#include "overhead/governor.h"
#include "overhead/schedule.h"
#include "tests/unit/unit.h"

#define PERIOD_NS UINT64_C(2000000)
#define WINDOW_NS UINT64_C(250000000)

#define LEAST_GAP_NS (PERIOD_NS / 8)
#define MOST_GAP_NS  (6 * PERIOD_NS)

TEST(schedule, gaps_are_exponential_with_the_period_as_mean)
{
	struct schedule schedule;
	uint64_t last_ns, start_ns = 1000, nr_short = 0;

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
TEST(schedule, does_not_avoid_what_ticks_set_off)
{
	uint64_t nr_by_quarter[4] = {0};
	struct schedule schedule;
	uint64_t set_off_ns = 0;

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
TEST(schedule, does_not_alias_with_a_target_of_the_same_rhythm)
{
	struct schedule schedule;
	uint64_t weight_by_quarter[4] = {0};
	uint64_t last_ns = 0;

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

TEST(schedule, ticks_that_nobody_took_are_counted_and_skipped)
{
	struct schedule schedule;
	uint64_t now_ns;

	schedule_init(&schedule, 0, PERIOD_NS, 7);
	now_ns = schedule.next_ns + 10 * PERIOD_NS;
	schedule_advance(&schedule, now_ns);
	/* The next was due some time after the first. */
	assert_in_range(schedule.nr_missed, 5, 10);
	assert_in_range(schedule.next_ns, now_ns + LEAST_GAP_NS, now_ns + MOST_GAP_NS);
}

TEST(schedule, what_is_due_during_a_tick_is_left_out)
{
	struct schedule schedule;
	uint64_t first_ns, second_ns;

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

TEST(schedule, a_hastened_tick_shifts_no_other)
{
	struct schedule schedule;
	uint64_t first_ns, second_ns;

	schedule_init(&schedule, 0, PERIOD_NS, 7);
	first_ns = schedule.next_ns;
	second_ns = schedule.after_next_ns;
	schedule_hasten(&schedule, first_ns + 1);
	assert_int_equal(schedule.next_ns, first_ns); /* it is due already */
	schedule_hasten(&schedule, first_ns / 2);
	assert_int_equal(schedule.next_ns, first_ns / 2);
	schedule_advance(&schedule, first_ns / 2 + 100);
	assert_int_equal(schedule.next_ns, second_ns);
}

TEST(schedule, a_new_period_counts_from_the_next_tick_on)
{
	struct schedule schedule;
	uint64_t first_ns;

	schedule_init(&schedule, 0, PERIOD_NS, 7);
	first_ns = schedule.next_ns;
	schedule_set_period(&schedule, 10 * PERIOD_NS);
	assert_int_equal(schedule.next_ns, first_ns);
	schedule_advance(&schedule, first_ns);
	assert_in_range(schedule.next_ns - first_ns, 10 * LEAST_GAP_NS, 10 * MOST_GAP_NS);
}

TEST(schedule, time_that_was_skipped_has_no_missed_ticks)
{
	const uint64_t after_ns = 1000 * PERIOD_NS;
	struct schedule schedule;

	schedule_init(&schedule, 0, PERIOD_NS, 7);
	schedule_skip(&schedule, after_ns);
	assert_in_range(schedule.next_ns, after_ns, after_ns + PERIOD_NS);
	schedule_advance(&schedule, schedule.next_ns);
	assert_int_equal(schedule.nr_missed, 0);
	assert_in_range(schedule.next_ns, after_ns + LEAST_GAP_NS,
			after_ns + PERIOD_NS + MOST_GAP_NS);
}

static bool allows(struct governor *governor, struct stop_budget *budget, uint64_t cpu_ns)
{
	if (cpu_ns > budget->cpu_ns)
		governor_credit(governor, cpu_ns - budget->cpu_ns);
	return governor_affords(governor, budget, cpu_ns) && governor_draws(governor, budget);
}

/* One thread is found running in each tick, and what it loses is measured: in parts per million. */
static double lost_ppm(struct governor *governor, struct stop_budget *budget, uint64_t cost_ns,
		       size_t nr_ticks)
{
	uint64_t cpu_ns = budget->cpu_ns, lost_ns = 0;

	for (size_t i = 0; i < nr_ticks; i++) {
		cpu_ns += governor->period_ns;
		if (!allows(governor, budget, cpu_ns))
			continue;
		governor_charge(governor, budget, cost_ns);
		lost_ns += cost_ns;
	}
	return 1e6 * (double)lost_ns / (double)(nr_ticks * governor->period_ns);
}

TEST(governor, lets_a_cheap_rate_be)
{
	struct stop_budget budget = {0};
	struct governor governor;

	governor_init(&governor, PERIOD_NS, 20000, 7);
	assert_true((uint64_t)lost_ppm(&governor, &budget, PERIOD_NS / 100, 1000) == 10000);
}

TEST(governor, leaves_out_stops_of_a_thread_that_would_lose_too_much)
{
	struct stop_budget dear = {0}, cheap = {0}, brief = {0};
	struct governor governor;

	governor_init(&governor, PERIOD_NS, 20000, 7);
	assert_in_range(lost_ppm(&governor, &dear, PERIOD_NS / 10, 5000), 18000, 20500);
	/* Another one is stopped as often as ever, and the period stays. */
	assert_in_range(lost_ppm(&governor, &cheap, PERIOD_NS / 60, 5000), 15500, 16700);
	assert_int_equal(governor.period_ns, PERIOD_NS);
	/* One that lives for a moment has a few stops at most. */
	assert_in_range(3e-6 * lost_ppm(&governor, &brief, PERIOD_NS, 3), 0, 5);
}

/* A thread that waits for a CPU is found in more ticks than its CPU time has. */
TEST(governor, a_waiting_thread_has_what_ticks_leave)
{
	struct stop_budget budget = {0};
	struct governor governor;
	uint64_t lost_ns = 0;

	governor_init(&governor, PERIOD_NS, 20000, 7);
	governor.stop_share = 0.5;
	for (uint64_t tick = 1; tick <= 40000; tick++) {
		if (!allows(&governor, &budget, tick * PERIOD_NS / 4))
			continue;
		governor_charge(&governor, &budget, PERIOD_NS / 20);
		lost_ns += PERIOD_NS / 20;
	}
	assert_in_range(lost_ns, 95 * PERIOD_NS, 101 * PERIOD_NS);
}

/*
 * Threads use 5 ms of CPU time and end; as they wait for a CPU in between they are found in ten
 * ticks. Each may have some stops on credit; all together stay within what is allowed.
 */
TEST(governor, short_lives_are_bounded_together)
{
	const struct governor_load load = {.window_ns = 100000000, .nr_cpus = 2};
	const uint64_t life_ns = 5000000, cost_ns = 60000;
	double used_ns = 0, lost_ns = 0;
	struct governor governor;

	governor_init(&governor, 1000000, 20000, 1);
	for (int life = 0; life < 4000; life++) {
		struct stop_budget budget = {0};

		for (uint64_t i = 1; i <= 10; i++) {
			if (!allows(&governor, &budget, i * life_ns / 10))
				continue;
			governor_charge(&governor, &budget, cost_ns);
			lost_ns += life >= 1000 ? (double)cost_ns : 0;
		}
		used_ns += life >= 1000 ? (double)life_ns : 0;
		if (life % 20 == 0)
			governor_update(&governor, &load);
	}
	assert_true(lost_ns / used_ns > 0.017 && lost_ns / used_ns < 0.0215);
}

#define LOOKS_APART_NS UINT64_C(10000000)

/* Looks of each_ns, in the ticks of window_ns, until all that is due was looked at. */
static uint64_t looks(struct governor *governor, uint64_t *now_ns, uint64_t window_ns,
		      uint64_t due_ns, uint64_t each_ns)
{
	uint64_t taken_ns = 0;

	for (uint64_t end_ns = *now_ns + window_ns; *now_ns < end_ns; *now_ns += LOOKS_APART_NS) {
		uint64_t credit_ns = governor_look_credit_ns(governor, *now_ns);

		for (uint64_t ns = 0; ns < credit_ns && taken_ns < due_ns; ns += each_ns) {
			governor_charge_looks(governor, each_ns);
			taken_ns += each_ns;
		}
	}
	return taken_ns;
}

/*
 * The same while no CPU is idle, and ticks and looks take their part, which is never foreseen
 * well: the sum of all is bounded, with the beginning, which is at the full rate.
 */
TEST(governor, debts_are_paid)
{
	struct governor_load load = {.window_ns = 100000000, .nr_cpus = 2, .lost_percent = 100};
	const uint64_t life_ns = 5000000, cost_ns = 50000;
	uint64_t used_ns = 0, stops_ns = 0, random = 1, now_ns = 1;
	struct governor governor;
	double lost;

	governor_init(&governor, 1000000, 20000, 1);
	for (int life = 0; life < 1000; life++) {
		uint64_t nr_ticks = 10 * governor.base_period_ns / governor.period_ns + 1;
		struct stop_budget budget = {0};

		for (uint64_t i = 1; i <= nr_ticks; i++) {
			if (!allows(&governor, &budget, i * life_ns / nr_ticks))
				continue;
			governor_charge(&governor, &budget, cost_ns);
			stops_ns += cost_ns;
		}
		used_ns += life_ns;
		if (life % 40 != 39)
			continue;
		random = random * UINT64_C(6364136223846793005) + 1;
		load.tick_ns = 10000 + (random >> 33) % 60000;
		load.looks_ns = looks(&governor, &now_ns, load.window_ns, 3000000, 30000);
		load.nr_ticks = load.window_ns / governor.period_ns;
		governor_update(&governor, &load);
	}
	lost = ((double)stops_ns + governor.lost_ns) / (double)used_ns;
	assert_true(lost > 0.0180 && lost < 0.0203);
}

/* CPU time of one thread, found running in each tick, whose stops are long by chance. */
struct stretch {
	double lost;	     /* the part of its CPU time that stops took */
	uint64_t longest_ns; /* of its CPU time without a stop */
};

static struct stretch run_stretch(struct governor *governor, struct stop_budget *budget,
				  uint64_t nr_ms, unsigned int long_of_1000)
{
	const struct governor_load load = {.window_ns = 250000000, .nr_cpus = 2};
	uint64_t begun_ns = budget->cpu_ns, cpu_ns = begun_ns, last_ns = begun_ns, random = 1;
	struct stretch stretch = {0};

	for (uint64_t tick = 1; cpu_ns < begun_ns + nr_ms * 1000000; tick++) {
		uint64_t cost_ns = 50000;

		cpu_ns += governor->period_ns;
		if (tick % 125 == 0)
			governor_update(governor, &load);
		if (!allows(governor, budget, cpu_ns))
			continue;
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		if ((random >> 33) % 1000 < long_of_1000)
			cost_ns = 5000000;
		governor_charge(governor, budget, cost_ns);
		stretch.lost += (double)cost_ns;
		if (cpu_ns - last_ns > stretch.longest_ns)
			stretch.longest_ns = cpu_ns - last_ns;
		last_ns = cpu_ns;
	}
	stretch.lost /= (double)(cpu_ns - begun_ns);
	return stretch;
}

/* Where the host takes a CPU away during a stop that takes milliseconds: 100 times the mean. */
TEST(governor, a_long_stop_is_paid_for_by_many)
{
	struct stop_budget budget = {0};
	struct governor governor;
	struct stretch stretch;

	governor_init(&governor, PERIOD_NS, 20000, 7);
	governor_expect(&governor, 60000);
	governor_charge(&governor, &budget, 8000000);
	stretch = run_stretch(&governor, &budget, 300, 0);
	assert_in_range(stretch.longest_ns, 2000000, 50000000);
	assert_in_range(stretch.lost * 1e6, 5000, 20000);
	stretch = run_stretch(&governor, &budget, 10000, 0);
	assert_in_range(stretch.lost * 1e6, 17000, 20500);
}

/* Some, many and all of the stops. */
TEST(governor, long_stops_are_within_the_bound)
{
	for (unsigned int long_of_1000 = 2; long_of_1000 <= 1024; long_of_1000 *= 2) {
		struct stop_budget budget = {0};
		struct governor governor;
		struct stretch stretch;

		governor_init(&governor, PERIOD_NS, 20000, 7);
		governor_expect(&governor, 60000);
		stretch = run_stretch(&governor, &budget, 20000, long_of_1000);
		assert_in_range(stretch.lost * 1e6, 17000, 22000);
		assert_in_range(stretch.longest_ns, 10000000,
				long_of_1000 <= 8 ? 400000000 : 3000000000);
	}
}

/* Then it tells little of others. */
TEST(governor, a_long_stop_is_an_exception_once)
{
	struct stop_budget budget = {0};
	struct governor governor;

	governor_init(&governor, PERIOD_NS, 20000, 7);
	lost_ppm(&governor, &budget, PERIOD_NS / 100, 100);
	governor_charge(&governor, &budget, 20 * PERIOD_NS);
	assert_true(governor.mean_cost_ns < PERIOD_NS / 50);
	governor_charge(&governor, &budget, 20 * PERIOD_NS);
	assert_true(budget.mean_cost_ns > PERIOD_NS);
	assert_true(governor.mean_cost_ns < PERIOD_NS / 50);
}

TEST(governor, credit_ends_with_a_second)
{
	struct stop_budget budget = {0};
	struct governor governor;

	governor_init(&governor, PERIOD_NS, 20000, 7);
	governor_charge(&governor, &budget, PERIOD_NS / 100);
	allows(&governor, &budget, UINT64_C(3600) * 1000000000);
	assert_int_equal(budget.balance_ns, 20000000);
	/* The clock of another thread that has taken its place by an exec. */
	allows(&governor, &budget, 1000);
	assert_int_equal(budget.balance_ns, 20000000);
}

/* A program that rests for some seconds after its first stop, and then works in short bursts. */
TEST(governor, rests_make_no_stop_rarer)
{
	const struct governor_load load = {.window_ns = 250000000, .nr_cpus = 2};
	const uint64_t burst_ns = 2000000;
	struct governor governor;
	struct stop_budget budget = {.balance_ns = 0};
	int nr_stops = 0;

	governor_init(&governor, burst_ns, 20000, 1);
	assert_true(allows(&governor, &budget, burst_ns / 2));
	governor_charge(&governor, &budget, 100000);
	for (int i = 0; i < 20; i++)
		governor_update(&governor, &load);
	for (int i = 0; i < 20; i++) {
		if (allows(&governor, &budget, (uint64_t)(i + 1) * burst_ns + burst_ns / 2)) {
			governor_charge(&governor, &budget, 100000);
			nr_stops++;
		}
	}
	assert_in_range(nr_stops, 2, 12);
}

TEST(governor, which_stops_are_left_out_is_drawn_by_lot)
{
	size_t nr[2] = {0};
	struct stop_budget budget = {0};
	struct governor governor;
	uint64_t cpu_ns = 0;

	/* A thread that does one thing in every other tick. */
	governor_init(&governor, PERIOD_NS, 20000, 7);
	for (size_t i = 0; i < 20000; i++) {
		cpu_ns += PERIOD_NS;
		if (!allows(&governor, &budget, cpu_ns))
			continue;
		governor_charge(&governor, &budget, PERIOD_NS / 25);
		nr[i % 2]++;
	}
	assert_in_range(nr[0] + nr[1], 9500, 10100);
	assert_in_range(100 * nr[0] / (nr[0] + nr[1]), 48, 52);
}

TEST(governor, ticks_take_half_of_what_is_allowed)
{
	struct governor_load load = {.window_ns = WINDOW_NS,
				     .tick_ns = PERIOD_NS / 100,
				     .nr_cpus = 2,
				     .lost_percent = 100};
	struct governor governor;

	governor_init(&governor, PERIOD_NS, 20000, 7);
	assert_int_equal(governor_update(&governor, &load), PERIOD_NS);
	assert_true(governor.stop_share > 0.74 && governor.stop_share < 0.76);
	load.tick_ns *= 3;
	assert_int_equal(governor_update(&governor, &load), 3 * PERIOD_NS / 2);
	assert_true(governor.stop_share > 0.49 && governor.stop_share < 0.51);
	/* Where a CPU is idle they take nothing from the target. */
	load.lost_percent = 0;
	assert_int_equal(governor_update(&governor, &load), PERIOD_NS);
	assert_true(governor.stop_share == 1);
	load.lost_percent = 50;
	assert_int_equal(governor_update(&governor, &load), PERIOD_NS);
}

/* A stop costs three times what a tick takes of each CPU: there are as many of both at 2 %. */
TEST(governor, ticks_are_no_more_than_stops)
{
	struct governor_load load = {.window_ns = WINDOW_NS,
				     .tick_ns = PERIOD_NS / 20,
				     .nr_cpus = 2,
				     .lost_percent = 100};
	struct stop_budget budget = {0};
	struct governor governor;

	governor_init(&governor, PERIOD_NS, 20000, 7);
	allows(&governor, &budget, PERIOD_NS * 4);
	governor_charge(&governor, &budget, 3 * PERIOD_NS / 40);
	for (int i = 0; i < 5; i++)
		governor_update(&governor, &load);
	/* A fortieth for the tick and three for the stop, in fiftieths of the period. */
	assert_in_range(governor.period_ns, 499 * PERIOD_NS / 100, 501 * PERIOD_NS / 100);
	assert_true(governor.stop_share > 0.74 && governor.stop_share < 0.76);
	/* Ticks that take little of it are as many as ever: other threads' stops may be cheaper. */
	load.tick_ns = PERIOD_NS / 400;
	for (int i = 0; i < 5; i++)
		governor_update(&governor, &load);
	assert_int_equal(governor.period_ns, PERIOD_NS);
	assert_true(governor.stop_share > 0.93 && governor.stop_share < 0.95);
}

/* While CPUs are idle ticks take nothing from threads; the sum says what they took in all. */
TEST(governor, sums_up_what_ticks_have_taken)
{
	struct governor_load load = {.window_ns = WINDOW_NS,
				     .nr_ticks = 100,
				     .tick_ns = 20000,
				     .looks_ns = 500000,
				     .nr_cpus = 2,
				     .lost_percent = 0};
	struct governor governor;

	governor_init(&governor, PERIOD_NS, 0, 7);
	governor_update(&governor, &load);
	assert_true(governor.lost_ns == 0);
	load.lost_percent = 50;
	governor_update(&governor, &load);
	load.lost_percent = 100;
	governor_update(&governor, &load);
	assert_true(governor.lost_ns == 1250000 + 2500000);
}

TEST(governor, looks_at_sleepers_take_half_of_what_is_allowed)
{
	/* 2 % of two CPUs for 250 ms are 10 ms; each look takes 50 us, and 400 are due. */
	const uint64_t half_ns = 5000000, due_ns = 20000000, each_ns = 50000;
	struct governor_load load = {.window_ns = WINDOW_NS, .nr_cpus = 2, .lost_percent = 100};
	struct governor governor;
	uint64_t now_ns = 1, all_ns = 0;

	governor_init(&governor, PERIOD_NS, 20000, 7);
	for (int i = 0; i < 40; i++) {
		load.looks_ns = looks(&governor, &now_ns, WINDOW_NS, due_ns, each_ns);
		all_ns += i >= 20 ? load.looks_ns : 0;
		governor_update(&governor, &load);
	}
	assert_in_range(all_ns, 20 * half_ns * 95 / 100, 20 * half_ns * 105 / 100);
	assert_true(governor.stop_share > 0.48 && governor.stop_share < 0.52);
}

/* Where a CPU is idle looks take nothing from threads, but a CPU has other uses. */
TEST(governor, looks_at_thousands_of_sleepers_take_a_small_part_of_an_idle_cpu)
{
	const uint64_t due_ns = 200000000, each_ns = 50000;
	struct governor_load load = {
		.window_ns = WINDOW_NS, .nr_sleepers = 100000, .nr_cpus = 2, .lost_percent = 0};
	struct governor governor;
	uint64_t now_ns = 1, all_ns = 0;

	governor_init(&governor, PERIOD_NS, 20000, 7);
	/* All threads of a program are new at the beginning. */
	assert_int_equal(looks(&governor, &now_ns, WINDOW_NS, due_ns, each_ns), due_ns);
	governor_update(&governor, &load);
	looks(&governor, &now_ns, WINDOW_NS, due_ns, each_ns);
	for (int i = 0; i < 40; i++) {
		all_ns += looks(&governor, &now_ns, WINDOW_NS, due_ns, each_ns);
		governor_update(&governor, &load);
	}
	assert_in_range(all_ns, 40 * WINDOW_NS * 29 / 1000, 40 * WINDOW_NS * 31 / 1000 + 60000000);
	/* Each of a few can be looked at in each tick. */
	load.nr_sleepers = 50;
	governor_update(&governor, &load);
	looks(&governor, &now_ns, WINDOW_NS, due_ns, each_ns);
	assert_int_equal(looks(&governor, &now_ns, WINDOW_NS, due_ns, each_ns), due_ns);
	assert_true(governor_draws_copy(&governor));
	governor_init(&governor, PERIOD_NS, 0, 7);
	governor_update(&governor, &load);
	assert_int_equal(looks(&governor, &now_ns, WINDOW_NS, due_ns, each_ns), due_ns);
	assert_int_equal(looks(&governor, &now_ns, WINDOW_NS, due_ns, each_ns), due_ns);
}

/* The less credit for copies is left, the fewer are made, whatever looks without one have used. */
TEST(governor, copies_get_rarer_as_their_credit_is_used_up)
{
	struct governor_load load = {.window_ns = WINDOW_NS, .nr_cpus = 2, .lost_percent = 100};
	uint64_t most_ns, nr[2] = {0};
	struct governor governor;

	governor_init(&governor, PERIOD_NS, 20000, 7);
	assert_true(governor_draws_copy(&governor)); /* nothing is known yet of what they take */
	governor_update(&governor, &load);
	most_ns = governor_look_credit_ns(&governor, 1);
	governor_charge_looks(&governor, 2 * most_ns);
	for (int i = 0; i < 1000; i++)
		nr[0] += governor_draws_copy(&governor);
	governor_charge_copy(&governor, most_ns / 2 * 3 / 4);
	for (int i = 0; i < 1000; i++)
		nr[1] += governor_draws_copy(&governor);
	assert_int_equal(nr[0], 1000);
	assert_in_range(nr[1], 200, 300);
	governor_charge_copy(&governor, most_ns);
	assert_false(governor_draws_copy(&governor));
	assert_int_equal(governor_look_credit_ns(&governor, 2), 0);
}

/* In ten ticks there are as many looks as in ten others: they do not come in bursts. */
TEST(governor, looks_are_spread_over_time)
{
	struct governor_load load = {.window_ns = WINDOW_NS, .nr_cpus = 2, .lost_percent = 100};
	uint64_t now_ns = 1, least_ns = UINT64_MAX, most_ns = 0, taken_ns;
	struct governor governor;

	governor_init(&governor, PERIOD_NS, 20000, 7);
	governor_update(&governor, &load);
	looks(&governor, &now_ns, NS_PER_SEC, NS_PER_SEC, 50000);
	for (int i = 0; i < 20; i++) {
		taken_ns = looks(&governor, &now_ns, 10 * LOOKS_APART_NS, NS_PER_SEC, 50000);
		least_ns = taken_ns < least_ns ? taken_ns : least_ns;
		most_ns = taken_ns > most_ns ? taken_ns : most_ns;
	}
	/* A tenth of a second has two milliseconds. */
	assert_in_range(least_ns, 1900000, 2000000);
	assert_in_range(most_ns, 2000000, 2100000);
}

TEST(governor, the_period_changes_in_steps)
{
	struct governor_load load = {.window_ns = WINDOW_NS,
				     .tick_ns = UINT64_MAX / 2,
				     .nr_cpus = 1,
				     .lost_percent = 100};
	struct governor governor;

	governor_init(&governor, PERIOD_NS, 20000, 7);
	assert_int_equal(governor_update(&governor, &load), 2 * PERIOD_NS);
	assert_int_equal(governor_update(&governor, &load), 4 * PERIOD_NS);
	for (int i = 0; i < 100; i++)
		governor_update(&governor, &load);
	assert_int_equal(governor.period_ns, governor.max_period_ns);
	load.tick_ns = 0;
	assert_int_equal(governor_update(&governor, &load), governor.max_period_ns / 2);
}

TEST(governor, zero_switches_it_off)
{
	struct governor_load load = {.window_ns = WINDOW_NS,
				     .tick_ns = UINT64_MAX / 2,
				     .nr_cpus = 1,
				     .lost_percent = 100};
	struct stop_budget budget = {0};
	struct governor governor;

	governor_init(&governor, PERIOD_NS, 0, 7);
	assert_int_equal(governor_update(&governor, &load), PERIOD_NS);
	governor_charge(&governor, &budget, 1000 * PERIOD_NS);
	assert_true(allows(&governor, &budget, 1));
}

TEST(histogram, quantiles_are_within_a_step)
{
	static struct histogram histogram;

	assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
	for (uint64_t value = 1; value <= 1000; value++)
		histogram_add(&histogram, value);
	assert_in_range(histogram_quantile(&histogram, 0.5), 448, 500);
	assert_in_range(histogram_quantile(&histogram, 0.99), 896, 990);
	assert_int_equal(histogram.sum, 500500);
	histogram_add(&histogram, UINT64_MAX);
	assert_true(histogram_quantile(&histogram, 1) > UINT64_MAX / 8 * 7);
}

/*
 * A recorder, whose ticks cost so much, and whose collector and looks these parts of the time
 * whatever it does.
 */
struct recorder {
	double tick_ns, collector, looks;
	double cpu_ns, ticks; /* so far */
};

static void run_recorder(struct recorder *recorder, struct governor *governor, size_t nr_windows)
{
	struct governor_load load = {.window_ns = WINDOW_NS, .nr_cpus = 2};

	for (size_t i = 0; i < nr_windows; i++) {
		double ticks = recorder->ticks + (double)WINDOW_NS / (double)governor->period_ns;

		load.nr_ticks = (uint64_t)ticks - (uint64_t)recorder->ticks;
		recorder->ticks = ticks;
		load.own_ns = (uint64_t)(recorder->tick_ns * (double)load.nr_ticks +
					 recorder->collector * (double)WINDOW_NS);
		load.looks_ns = (uint64_t)(recorder->looks * (double)WINDOW_NS);
		load.own_ns += load.looks_ns;
		recorder->cpu_ns += (double)load.own_ns;
		governor_update(governor, &load);
	}
}

#define BASE_NS	   UINT64_C(20000000)
#define NR_WINDOWS 2400 /* ten minutes */
#define BUDGET_PPM 4500

static struct governor budgeted(uint32_t max_overhead_ppm)
{
	struct governor governor;

	governor_init(&governor, BASE_NS, max_overhead_ppm, 7);
	governor_set_budget(&governor, BUDGET_PPM);
	return governor;
}

/* In ten minutes; whether stops have a bound as well or not. */
TEST(budget, is_kept_by_fewer_ticks)
{
	for (uint32_t overhead_ppm = 0; overhead_ppm <= 20000; overhead_ppm += 20000) {
		struct recorder dear = {.tick_ns = 300000, .collector = 0.001};
		struct governor governor = budgeted(overhead_ppm);

		run_recorder(&dear, &governor, NR_WINDOWS);
		assert_in_range(1e6 * dear.cpu_ns / (NR_WINDOWS * WINDOW_NS), 4300, 4620);
		/* 0.0035 of the time is left for ticks of 300 us. */
		assert_in_range(governor.period_ns, 84000000, 88000000);
		assert_in_range(governor_used_ppm(&governor), 4400, 4600);
		assert_false(governor_lacks_budget(&governor));
	}
}

TEST(budget, lets_a_cheap_rate_be)
{
	struct recorder cheap = {.tick_ns = 50000, .collector = 0.001};
	struct governor governor = budgeted(20000);

	run_recorder(&cheap, &governor, NR_WINDOWS);
	assert_int_equal(governor.period_ns, BASE_NS);
	assert_in_range(governor_used_ppm(&governor), 3400, 3600);
}

/* Files of a new program were read, for 300 ms: that is paid, and forgotten after a minute. */
TEST(budget, a_burst_is_paid_for)
{
	const struct governor_load burst = {
		.window_ns = WINDOW_NS, .nr_cpus = 2, .own_ns = 300000000, .nr_ticks = 4};
	struct recorder dear = {.tick_ns = 300000};
	struct governor governor = budgeted(20000);
	uint64_t before_ns;

	run_recorder(&dear, &governor, NR_WINDOWS);
	before_ns = governor.period_ns;
	governor_update(&governor, &burst);
	assert_in_range(governor.period_ns, 2 * before_ns, 200000000);
	run_recorder(&dear, &governor, 400);
	assert_in_range(governor.period_ns, before_ns, before_ns + before_ns / 20);
}

/* The period is known as soon as the cost is, and not found step by step. */
TEST(budget, is_kept_at_once_beside_many_sleepers)
{
	struct recorder recorder = {.tick_ns = 300000, .looks = 0.0015};
	struct governor governor = budgeted(20000);

	run_recorder(&recorder, &governor, 10);
	assert_in_range(governor.period_ns, 95000000, 105000000);
	run_recorder(&recorder, &governor, NR_WINDOWS);
	assert_in_range(governor.period_ns, 95000000, 105000000);
}

/* Of 200 programs that wake each second all are due all the time, and each look takes 50 us. */
TEST(budget, looks_at_sleepers_have_a_third_of_it)
{
	const struct governor_load load = {.window_ns = WINDOW_NS,
					   .nr_sleepers = 200,
					   .nr_cpus = 2,
					   .nr_ticks = 2,
					   .own_ns = 1000000};
	const uint64_t due_ns = 400 * 50000;
	uint64_t now_ns = 1, all_ns = 0;

	for (uint32_t overhead_ppm = 0; overhead_ppm <= 20000; overhead_ppm += 20000) {
		struct governor governor = budgeted(overhead_ppm);

		now_ns = 1;
		all_ns = 0;
		/* What was saved before the first tick is used up after some seconds. */
		for (size_t i = 0; i < NR_WINDOWS; i++) {
			uint64_t took_ns = looks(&governor, &now_ns, WINDOW_NS, due_ns, 50000);

			all_ns += i >= NR_WINDOWS / 2 ? took_ns : 0;
			governor_update(&governor, &load);
		}
		assert_in_range(1e6 * (double)all_ns / (NR_WINDOWS / 2 * WINDOW_NS), 1400, 1600);
	}
}

/*
 * Before its CPU time is told, which is so in the first seconds, all of a program's threads are
 * new: a thousand of them are all seen.
 */
TEST(budget, does_not_bound_the_first_looks)
{
	const struct governor_load load = {
		.window_ns = WINDOW_NS, .nr_sleepers = 1000, .nr_cpus = 2, .nr_ticks = 2};
	const struct governor_load told = {
		.window_ns = WINDOW_NS, .nr_cpus = 2, .own_ns = 100000, .nr_ticks = 2};
	struct governor governor = budgeted(20000);
	uint64_t now_ns = 1, all_ns = 0;

	for (size_t i = 0; i < 10; i++) {
		all_ns += looks(&governor, &now_ns, WINDOW_NS, 50000000, 50000);
		governor_update(&governor, &load);
	}
	assert_true(all_ns > 320000000);
	assert_int_equal(governor_clocks_ns(&governor), BASE_NS / 64);
	/* No more is saved than ten seconds of the budget. */
	now_ns += 300 * NS_PER_SEC;
	governor_update(&governor, &told);
	assert_in_range(governor_look_credit_ns(&governor, now_ns), 14999999, 15000000);
}

/* In each second, at any rate; without a budget a 64th of it. */
TEST(budget, clocks_of_processes_have_a_quarter_of_it)
{
	const struct governor_load told = {
		.window_ns = WINDOW_NS, .nr_cpus = 2, .own_ns = 100000, .nr_ticks = 2};
	struct governor governor = budgeted(20000);

	governor_update(&governor, &told);
	assert_in_range(governor_clocks_ns(&governor), 22499, 22500);
	governor.period_ns = 10 * BASE_NS;
	assert_in_range(governor_clocks_ns(&governor), 224999, 225000);
	governor_init(&governor, BASE_NS, 20000, 7);
	assert_int_equal(governor_clocks_ns(&governor), BASE_NS / 64);
}

TEST(budget, the_lowest_rate_has_its_cost)
{
	struct recorder dearest = {.tick_ns = 3000000};
	struct governor governor = budgeted(20000);

	run_recorder(&dearest, &governor, 200);
	assert_int_equal(governor.period_ns, 200000000);
	assert_false(governor_lacks_budget(&governor)); /* a burst may last */
	run_recorder(&dearest, &governor, 200);
	assert_true(governor_lacks_budget(&governor));
	assert_in_range(governor_used_ppm(&governor), 14000, 16000);
	dearest.tick_ns = 300000;
	run_recorder(&dearest, &governor, 400);
	assert_false(governor_lacks_budget(&governor));
}

TEST(budget, what_is_unknown_does_not_count)
{
	const struct governor_load unknown = {.window_ns = WINDOW_NS, .nr_cpus = 2, .nr_ticks = 12};
	struct recorder dear = {.tick_ns = 300000};
	struct governor governor = budgeted(20000);
	uint64_t before_ns;

	for (int i = 0; i < 100; i++)
		governor_update(&governor, &unknown);
	run_recorder(&dear, &governor, 4); /* one second: costs of a moment */
	assert_int_equal(governor.period_ns, BASE_NS);
	run_recorder(&dear, &governor, 400);
	before_ns = governor.period_ns;
	assert_in_range(before_ns, 60000000, 70000000);
	for (int i = 0; i < 100; i++)
		governor_update(&governor, &unknown);
	assert_int_equal(governor.period_ns, before_ns);
}

/* A rate below that of the budget is not raised. */
TEST(budget, is_a_bound_and_no_aim)
{
	struct recorder dearest = {.tick_ns = 3000000};
	struct governor governor;

	governor_init(&governor, 500000000, 20000, 7);
	governor_set_budget(&governor, BUDGET_PPM);
	run_recorder(&dearest, &governor, NR_WINDOWS);
	assert_int_equal(governor.period_ns, 500000000);
}
