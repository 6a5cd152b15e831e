// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/message.h"
#include "collector/wanted_hints.h"
#include "snapshot/wanted.h"
#include "tests/unit/unit.h"

static bool wants(const struct wanted_memory *wanted, uint64_t start, uint64_t nr_bytes)
{
	for (size_t i = 0; i < wanted->nr; i++) {
		const struct wanted_range *range = &wanted->at[i];

		if (range->start <= start && start + nr_bytes <= range->start + range->nr_bytes)
			return true;
	}
	return false;
}

static struct wanted_memory wanted_of(struct thread_hints *hints, uint64_t start, uint64_t nr_bytes)
{
	const struct wanted_more more = {.subject = 1};
	struct wanted_memory wanted = {.nr = 0};

	assert_true(wanted_memory_add(&wanted, start, nr_bytes));
	wanted_hints_recall(hints, &wanted);
	wanted_memory_sort(&wanted);
	wanted_hints_set(hints, &wanted, &more);
	return wanted;
}

TEST(collector_wanted_hints, have_what_the_last_walks_wanted)
{
	struct thread_hints *hints = thread_hints_new(NULL);
	struct wanted_memory wanted = {.nr = 0};
	struct wanted_more more;

	wanted_of(hints, 0x1000, 16); /* before there are any hints */
	wanted_of(hints, 0x9000, 16);
	wanted_of(hints, 0x2000, 32);
	wanted = wanted_of(hints, 0x2010, 48); /* a part of both is the same */
	assert_true(wants(&wanted, 0x9000, 16));
	assert_true(wants(&wanted, 0x2000, 64));
	assert_int_equal(wanted.nr, 2);
	assert_true(wanted_hints_get(hints, &wanted, &more));
	assert_int_equal(wanted.nr, 2);
	assert_int_equal(wanted.at[0].start, 0x2000); /* in order */
	for (int i = 0; i < 8; i++)
		wanted = wanted_of(hints, 0x4000, 16);
	assert_int_equal(wanted.nr, 1); /* that was long ago */
	thread_hints_free(hints);
}

/* A walk that wants `start`, and of former ones all that is steady; how many ranges are wanted. */
static size_t walk_with_steady(struct thread_hints *hints, uint64_t start, bool is_steady)
{
	const struct wanted_more more = {.subject = 1};
	struct wanted_memory wanted = {.nr = 0};

	wanted_memory_add(&wanted, start, 16);
	wanted_hints_recall(hints, &wanted);
	for (size_t i = 0; i < wanted.nr; i++)
		wanted.at[i].is_late = is_steady;
	wanted_memory_sort(&wanted);
	wanted_hints_set(hints, &wanted, &more);
	return wanted.nr;
}

TEST(collector_wanted_hints, have_for_longer_what_is_copied_after_the_stop)
{
	struct thread_hints *hints = thread_hints_new(NULL);
	size_t nr = 0;

	for (uint64_t i = 0; i < 20; i++)
		nr = walk_with_steady(hints, 0x1000 * (i + 1), true);
	assert_in_range(nr, 19, 20);
	/* No more of them than can be copied at once, and those of now. */
	for (uint64_t i = 0; i < 200; i++)
		nr = walk_with_steady(hints, 0x1000 * (i + 1), true);
	assert_in_range(nr, 96, 97);
	/* Where they are replaced they are as all others are. */
	for (uint64_t i = 0; i < 8; i++)
		nr = walk_with_steady(hints, 0x1000, false);
	assert_int_equal(nr, 1);
	thread_hints_free(hints);
}

/* Ranges that adjoin keep their sizes, by which objects are known; all of them have a bound. */
TEST(collector_wanted_hints, are_bounded)
{
	struct thread_hints *hints = thread_hints_new(NULL);
	struct wanted_memory wanted = {.nr = 0};

	for (uint64_t i = 0; i < 1000; i++)
		wanted = wanted_of(hints, 0x10000 + 16 * (i % 3), 16);
	assert_int_equal(wanted.nr, 3);
	for (uint64_t i = 0; i < 1000; i++)
		wanted = wanted_of(hints, 0x1000000 * (i + 1), WANTED_BYTES_MAX / 4);
	assert_in_range(wanted.nr_bytes, WANTED_BYTES_MAX / 4, WANTED_BYTES_MAX);
	assert_true(wants(&wanted, 0x1000000 * UINT64_C(1000), WANTED_BYTES_MAX / 4));
	/* Two walks by turns, each of which wants many. */
	for (uint64_t i = 0; i < 8; i++) {
		const struct wanted_more more = {.subject = 1};

		wanted = (struct wanted_memory){.nr = 0};
		for (uint64_t n = 0; n < SNAPSHOT_WANTED_MAX - 1; n++)
			wanted_memory_add(&wanted, (i % 2 + 1) << 40 | n << 12, 16);
		wanted_hints_recall(hints, &wanted);
		assert_in_range(wanted.nr, SNAPSHOT_WANTED_MAX - 1, SNAPSHOT_WANTED_MAX);
		wanted_memory_sort(&wanted);
		wanted_hints_set(hints, &wanted, &more);
	}
	thread_hints_free(hints);
}
