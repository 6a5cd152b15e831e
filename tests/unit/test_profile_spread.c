// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "profile/profile.h"
#include "profile/spread.h"
#include "tests/unit/unit.h"

#define REACH_NS 1000

/* {thread, time, CPU time} of a look that found it running. */
#define LOOK(t, at, cpu)                                                                           \
	{                                                                                          \
		.thread = {t}, .time_ns = (at), .cpu_ns = (cpu), .nr = 1, .kind = SAMPLE_RUNNING   \
	}

static void check(struct sample *samples, size_t nr, size_t nr_threads, const uint64_t *expected)
{
	uint64_t before = 0, after = 0;

	for (size_t i = 0; i < nr; i++)
		before += samples[i].cpu_ns;
	spread_cpu_time(samples, nr, nr_threads, REACH_NS);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(samples[i].cpu_ns, expected[i]);
		after += samples[i].cpu_ns;
	}
	assert_int_equal(before, after);
}

TEST(spread, leaves_even_gaps_alone_but_at_the_ends)
{
	struct sample samples[] = {
		LOOK(0, 100, 120), LOOK(0, 200, 120), LOOK(0, 300, 120), LOOK(0, 400, 120),
		LOOK(0, 500, 120), LOOK(0, 600, 120), LOOK(0, 700, 120), LOOK(0, 800, 120),
	};
	/* The first gap is the first look's, which has half of the second, too; nothing of a next
	 * one comes to the last two. */
	const uint64_t expected[] = {210, 90, 120, 120, 120, 120, 90, 90};

	check(samples, ARRAY_SIZE(samples), 1, expected);
}

TEST(spread, shares_a_gap_among_two_looks_on_either_side)
{
	struct sample samples[] = {
		LOOK(0, 100, 4),   LOOK(0, 200, 4), LOOK(0, 300, 4),
		LOOK(0, 400, 400), LOOK(0, 500, 4), LOOK(0, 600, 4),
	};
	struct sample plain[] = {
		LOOK(0, 100, 4), LOOK(0, 200, 4), LOOK(0, 300, 4),
		LOOK(0, 400, 4), LOOK(0, 500, 4), LOOK(0, 600, 4),
	};

	spread_cpu_time(samples, ARRAY_SIZE(samples), 1, REACH_NS);
	spread_cpu_time(plain, ARRAY_SIZE(plain), 1, REACH_NS);
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
		assert_int_equal(samples[i].cpu_ns - plain[i].cpu_ns, i >= 1 && i <= 4 ? 99 : 0);
}

TEST(spread, does_not_reach_over_a_pause)
{
	struct sample samples[] = {
		LOOK(0, 100, 10),
		LOOK(0, 200, 30),
		LOOK(0, 5000, 100),
		LOOK(0, 5100, 200),
	};
	const uint64_t expected[] = {25, 15, 200, 100};

	check(samples, ARRAY_SIZE(samples), 1, expected);
}

TEST(spread, keeps_threads_apart)
{
	struct sample samples[] = {
		LOOK(0, 100, 10), LOOK(1, 110, 1000), LOOK(0, 200, 30),
		LOOK(2, 210, 7),  LOOK(1, 220, 3000),
	};
	const uint64_t expected[] = {25, 2500, 15, 7, 1500};

	check(samples, ARRAY_SIZE(samples), 3, expected);
}

TEST(spread, gives_nothing_to_looks_that_found_it_not_running)
{
	struct sample samples[] = {
		LOOK(0, 100, 10), LOOK(0, 150, 0),  LOOK(0, 200, 30),
		LOOK(0, 250, 99), LOOK(0, 260, 55),
	};
	const uint64_t expected[] = {25, 0, 15, 99, 55};

	samples[1].runq_ns = 40; /* it waited for a CPU */
	samples[3].kind = SAMPLE_BLOCKED;
	samples[4].kind = SAMPLE_UNATTRIBUTED;
	check(samples, ARRAY_SIZE(samples), 1, expected);
	assert_int_equal(samples[1].runq_ns, 40);
}

TEST(spread, leaves_what_ran_after_the_last_look_where_it_is)
{
	struct sample samples[] = {LOOK(0, 100, 20), LOOK(0, 200, 40), LOOK(0, 240, 60)};
	const uint64_t expected[] = {40, 20, 60};

	samples[2].nr = 0;
	check(samples, ARRAY_SIZE(samples), 1, expected);
}

TEST(spread, loses_no_nanosecond)
{
	struct sample samples[] = {LOOK(0, 100, 7), LOOK(0, 200, 8), LOOK(0, 300, 10)};
	const uint64_t expected[] = {13, 4, 8};

	/* 7; 8 = 4 + 2 + 2; 10 = 2 + 2 + 6: the look that ended the gap has the rest. */
	check(samples, ARRAY_SIZE(samples), 1, expected);
}

TEST(spread, is_at_home_with_nothing)
{
	spread_cpu_time(NULL, 0, 0, REACH_NS);
	spread_cpu_time(NULL, 0, 5, REACH_NS);
}
