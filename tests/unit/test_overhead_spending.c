// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "overhead/governor.h"
#include "overhead/spending.h"
#include "tests/unit/unit.h"

/* What would be used with fewer ticks, too, is none of a tick's: 20 us, and 1 % of the time. */
TEST(spending, a_tick_is_what_one_fewer_would_save)
{
	struct spending spending = {.nr_ticks = 0};
	struct governor_load load = {0};
	uint64_t behind_ns = NS_PER_SEC;

	spending_begin(&spending, NS_PER_SEC);
	assert_false(spending_is_due(&spending, NS_PER_SEC + NS_PER_MS));
	assert_true(spending_is_due(&spending, NS_PER_SEC + 16 * NS_PER_MS));
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t gap_ns = (1 + 7 * i % 10) * NS_PER_MS;
		struct spending_begun begun = spending_begin_tick(&spending);

		/* Which all end now, so that only what passes in here is beside it. */
		spending.last_ns = begun.at_ns - behind_ns - gap_ns;
		begun.at_ns -= behind_ns;
		spending.looks_ns += 50 * NS_PER_US;
		spending.looks_took_ns += 50 * NS_PER_US;
		spending.news_ns += 40 * NS_PER_US;
		spending.away_ns += behind_ns - 110 * NS_PER_US - gap_ns / 100;
		spending_add_tick(&spending, &begun);
	}
	spending.nr_ticks = 1000;
	assert_in_range(spending_tick_ns(&spending), 18 * NS_PER_US, 24 * NS_PER_US);
	spending_load(&spending, NS_PER_SEC + 100 * NS_PER_MS, 7, &load);
	assert_int_equal(load.window_ns, 100 * NS_PER_MS);
	assert_int_equal(load.looks_ns, 50 * NS_PER_MS);
	assert_int_equal(load.nr_ticks, 1000);
	assert_int_equal(load.tick_ns, spending_tick_ns(&spending) + 7);
	/* The next window, which is as long as half of the time before it. */
	assert_false(spending_is_due(&spending, NS_PER_SEC + 150 * NS_PER_MS));
	assert_true(spending_is_due(&spending, NS_PER_SEC + 200 * NS_PER_MS));
	spending.looks_ns += NS_PER_MS;
	spending.nr_ticks += 100;
	spending_load(&spending, NS_PER_SEC + 200 * NS_PER_MS, 7, &load);
	assert_int_equal(load.nr_ticks, 100);
	assert_int_equal(load.looks_ns, NS_PER_MS);
}

/* Everything is new to the first tick: it says nothing of those to come. */
TEST(spending, the_first_tick_does_not_count)
{
	struct spending spending = {.nr_ticks = 0};
	struct spending_begun begun;

	spending_begin(&spending, NS_PER_SEC);
	for (uint64_t i = 0; i <= 10; i++) {
		begun = spending_begin_tick(&spending);
		begun.at_ns -= i ? 30 * NS_PER_US : 5 * NS_PER_MS;
		spending_add_tick(&spending, &begun);
	}
	assert_in_range(spending_tick_ns(&spending), 30 * NS_PER_US / 8, 60 * NS_PER_US);
}

static void use_cpu_ns(uint64_t wanted_ns)
{
	uint64_t until_ns = clock_thread_cpu_ns() + wanted_ns;

	while (clock_thread_cpu_ns() < until_ns)
		;
}

/* Visits during looks, which wait for their thread, and the reading of what is new are not looks.
 */
TEST(spending, looks_are_without_visits_and_news)
{
	struct spending spending = {.nr_ticks = 0};
	struct spending_begun begun = spending_begin_looks(&spending);

	use_cpu_ns(2 * NS_PER_MS);
	begun.at_ns -= 10 * NS_PER_MS;
	spending.away_ns += 8 * NS_PER_MS;
	spending.news_ns += 3 * NS_PER_MS;
	assert_true(spending_add_looks(&spending, &begun) >= NS_PER_MS);
	assert_true(spending.looks_ns >= NS_PER_MS);
	spending.looks_ns = 0;
	spending.away_ns += NS_PER_SEC * 3600;
	assert_int_equal(spending_add_looks(&spending, &begun), 0);
	assert_int_equal(spending.looks_ns, 0);
}

/* It is time of the looks, and not of the tick: but it takes none from other threads. */
TEST(spending, a_wait_within_looks_is_no_cpu_time)
{
	struct spending spending = {.last_ns = 1};
	struct spending_begun tick = spending_begin_tick(&spending);
	struct spending_begun begun = spending_begin_looks(&spending);

	tick.at_ns -= NS_PER_SEC * 3600;
	begun.at_ns -= NS_PER_SEC * 3600;
	assert_true(spending_add_looks(&spending, &begun) < NS_PER_SEC);
	assert_true(spending.looks_took_ns >= NS_PER_SEC * 3600);
	spending_add_tick(&spending, &tick);
	assert_true(spending_tick_ns(&spending) < NS_PER_SEC);
}

TEST(spending, what_was_used_during_a_pause_is_unknown)
{
	struct spending spending = {.nr_ticks = 0};

	spending_begin(&spending, NS_PER_SEC);
	assert_int_equal(spending_own_ns(&spending, 100), 0); /* from when on? */
	assert_int_equal(spending_own_ns(&spending, 130), 30);
	spending_skip(&spending, 2 * NS_PER_SEC);
	assert_int_equal(spending_own_ns(&spending, 500), 0);
	assert_int_equal(spending_own_ns(&spending, 501), 1);
}
