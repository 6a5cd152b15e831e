// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/share_out.h"
#include "tests/unit/unit.h"

#define UNBOUNDED UINT64_MAX

/* {sample, time, CPU time} of an observation, of time without one, and without a stack. */
#define SEEN(number, at, cpu)                                                                      \
	{                                                                                          \
		(number), (at), (cpu), 1, true                                                     \
	}
#define TAIL(number, at, cpu)                                                                      \
	{                                                                                          \
		(number), (at), (cpu), 0, true                                                     \
	}
#define BARE(number, at, cpu)                                                                      \
	{                                                                                          \
		(number), (at), (cpu), 0, false                                                    \
	}

static void check(const struct stake *stakes, size_t nr, uint64_t most_ns,
		  const struct share *expected, size_t nr_expected)
{
	struct share_list shares = {0};

	share_out(stakes, nr, most_ns, &shares);
	assert_int_equal(shares.nr, nr_expected);
	for (size_t i = 0; i < nr_expected; i++) {
		assert_int_equal(shares.rows[i].from, expected[i].from);
		assert_int_equal(shares.rows[i].to, expected[i].to);
		assert_int_equal(shares.rows[i].to_time_ns, expected[i].to_time_ns);
		assert_int_equal(shares.rows[i].ns, expected[i].ns);
	}
	free(shares.rows);
}

TEST(share_out, time_without_a_stack_goes_to_the_observations_around_it)
{
	const struct stake stakes[] = {BARE(7, 10, 30), SEEN(1, 20, 10), BARE(8, 30, 40),
				       SEEN(2, 40, 20)};
	/* 100 for two: the first has 10 and gets 40, the second has 20 and gets 30. */
	const struct share expected[] = {{7, 1, 20, 30}, {8, 1, 20, 10}, {8, 2, 40, 30}};

	check(stakes, ARRAY_SIZE(stakes), UNBOUNDED, expected, ARRAY_SIZE(expected));
}

TEST(share_out, a_long_gap_is_no_larger_part_than_a_short_one)
{
	const struct stake stakes[] = {SEEN(1, 10, 50), SEEN(2, 20, 10), TAIL(3, 30, 12)};
	const struct share expected[] = {{1, 2, 20, 14}, {3, 2, 20, 12}};

	check(stakes, ARRAY_SIZE(stakes), UNBOUNDED, expected, ARRAY_SIZE(expected));
}

TEST(share_out, two_observations_in_a_row_are_two_parts)
{
	const struct stake stakes[] = {{1, 10, 1, 2, true}, SEEN(2, 20, 1), BARE(3, 30, 28)};
	const struct share expected[] = {{3, 1, 10, 19}, {3, 2, 20, 9}};

	check(stakes, ARRAY_SIZE(stakes), UNBOUNDED, expected, ARRAY_SIZE(expected));
}

TEST(share_out, an_observation_stands_for_no_more_than_the_bound)
{
	const struct stake stakes[] = {SEEN(1, 10, 4), BARE(2, 20, 60), BARE(3, 30, 30),
				       TAIL(4, 40, 6)};
	/* 20 of 100, 4 of which it has; both that lack a stack give in proportion. */
	const struct share expected[] = {{2, 1, 10, 10}, {3, 1, 10, 6}};

	check(stakes, ARRAY_SIZE(stakes), 20, expected, ARRAY_SIZE(expected));
}

TEST(share_out, nothing_is_shared_without_an_observation)
{
	const struct stake stakes[] = {BARE(1, 10, 30), TAIL(2, 20, 10)};

	check(stakes, ARRAY_SIZE(stakes), UNBOUNDED, NULL, 0);
	check(stakes, 0, UNBOUNDED, NULL, 0);
}

TEST(share_out, parts_of_a_sum_add_up_to_it)
{
	const uint64_t totals[] = {0, 1, 2, 100, 1000003, UINT64_C(1) << 62};

	for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
		uint64_t sum = 0;

		for (uint64_t at = 0; at < 7; at++)
			sum += share_of(totals[i], at, at + 1, 7);
		assert_int_equal(sum, totals[i]);
	}
	assert_int_equal(share_of(5, 0, 0, 0), 0);
	assert_true(share_bound(3, 5) == 15);
	assert_true(share_bound(0, UINT64_MAX) == 0);
	assert_true(share_bound(3, UINT64_MAX / 2) == UINT64_MAX);
}

TEST(share_out, no_part_is_larger_than_what_is_there)
{
	const uint64_t whole = UINT64_C(32900000000) * 1000 + 7;

	for (uint64_t at = 1; at < 1000; at++) {
		uint64_t from = at * (whole / 1001) + at;

		assert_int_equal(share_of(whole, from, from + at, whole), at);
		assert_true(share_of(whole - 1, from, from + at, whole) <= at);
	}
}
