// SPDX-License-Identifier: GPL-2.0-or-later
/* Which numbers are believed that a process may have written. */
#include "base/clock.h"
#include "base/minmax.h"
#include "probe/believed.h"
#include "probe/serials.h"
#include "profile/heap.h"
#include "profile/probes.h"
#include "tests/unit/unit.h"

static struct believed new_believed(void)
{
	return believed_since(clock_monotonic_ns());
}

TEST(believed, counts_that_grow)
{
	struct believed believed = new_believed();
	struct believed_count first = {.calls = 0}, second = {.calls = 0};

	assert_int_equal(believed_calls(&believed, &first, 10), 10);
	assert_int_equal(believed_calls(&believed, &second, 5), 5);
	assert_int_equal(believed_calls(&believed, &first, 1000000), 1000000);
	assert_int_equal(believed.calls, 1000005);
	assert_int_equal(believed.nr_refused, 0);
}

TEST(believed, falling_or_impossible_counts_are_refused)
{
	struct believed believed = new_believed();
	struct believed_count back = {.calls = 0}, much = {.calls = 0};

	believed_calls(&believed, &back, 10);
	believed_calls(&believed, &much, 10);
	assert_int_equal(believed_calls(&believed, &back, 9), 10);
	assert_true(back.is_spoilt);
	assert_int_equal(believed_calls(&believed, &back, 20), 10);
	assert_int_equal(believed_calls(&believed, &much, UINT64_MAX), 10);
	assert_int_equal(believed_calls(&believed, &much, 10), 10);
	assert_int_equal(believed.calls, 20);
	assert_int_equal(believed.nr_refused, 2);
}

/* After any time, and for any numbers, the sums are within the limits of a profile. */
TEST(believed, sums_are_bounded)
{
	struct believed believed = believed_since(0); /* long ago */
	struct believed_totals totals[100] = {{.bytes = 0}};

	for (int i = 0; i < 100; i++) {
		struct profile_heap_moment moment = {.allocated_bytes = HEAP_TOTAL_MAX / 2 - 1,
						     .nr_allocations = 1};

		believed_moment(&believed, &totals[i], &moment);
		assert_int_equal(moment.nr_allocations, i == 0);
		moment = (struct profile_heap_moment){.allocated_bytes = UINT64_C(1) << 40,
						      .nr_allocations = 2};
		believed_moment(&believed, &totals[i], &moment); /* there is room for this */
		assert_int_equal(moment.nr_allocations, 2);
	}
	assert_true(believed.bytes <= HEAP_TOTAL_MAX);
	assert_int_equal(believed.nr_refused, 99);
}

TEST(believed, totals_do_not_go_back)
{
	struct believed believed = new_believed();
	struct believed_totals totals = {.bytes = 0};
	struct profile_heap_moment moment = {.allocated_bytes = 1000, .nr_allocations = 10};

	believed_moment(&believed, &totals, &moment);
	moment = (struct profile_heap_moment){
		.allocated_bytes = 900, .nr_allocations = 11, .nr_dropped = 1};
	believed_moment(&believed, &totals, &moment);
	assert_int_equal(moment.allocated_bytes, 1000);
	assert_int_equal(moment.nr_allocations, 11);
	assert_int_equal(moment.nr_dropped, 1);
	moment = (struct profile_heap_moment){.nr_allocations = UINT64_MAX};
	believed_moment(&believed, &totals, &moment);
	assert_int_equal(moment.allocated_bytes, 1000);
	assert_int_equal(moment.nr_allocations, 11);
	assert_int_equal(believed.numbers, 12);
	assert_int_equal(believed.nr_refused, 1);
}

TEST(believed, parts_leave_room)
{
	assert_true(part_has_room(0, 0, 50, 100));
	assert_false(part_has_room(0, 0, 51, 100));
	assert_true(part_has_room(50, 0, 25, 100));
	assert_false(part_has_room(50, 0, 26, 100));
	assert_true(part_has_room(99, 60, 60, 100)); /* unchanged */
	assert_false(part_has_room(50, 50, UINT64_MAX, 100));
}

TEST(serials, descent)
{
	struct serials serials = {.nr = 0};

	serials_set(&serials, 0, NULL, SERIALS_NO_PARENT);
	serials_set(&serials, 3, NULL, 0);
	serials_set(&serials, 4, NULL, 3);
	serials_set(&serials, 5, NULL, SERIALS_NO_PARENT);
	assert_true(serials_descends(&serials, 4, 0));
	assert_true(serials_descends(&serials, 4, 4));
	assert_false(serials_descends(&serials, 0, 4));
	assert_false(serials_descends(&serials, 5, 0));
	assert_false(serials_descends(&serials, 2, 0)); /* not known */
	assert_false(serials_descends(&serials, 99, 0));
	assert_true(serials_has_parent(&serials, 4));
	assert_false(serials_has_parent(&serials, 5));
	assert_false(serials_has_parent(&serials, 99));
	serials_release(&serials);
}
