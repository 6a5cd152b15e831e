// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "collector/queue.h"
#include "snapshot/snapshot.h"

static struct snapshot *snapshot_of(size_t nr_bytes)
{
	struct snapshot *snapshot = xcalloc(1, sizeof(*snapshot));

	memset(snapshot_add_region(snapshot, 4096, nr_bytes), 'x', nr_bytes);
	return snapshot;
}

static void test_ring__gives_back_the_latest(void **state)
{
	struct snapshot_ring ring = {0};
	struct snapshot *first = snapshot_of(10);
	struct snapshot *second = snapshot_of(20);
	struct snapshot *taken;

	(void)state;
	assert_null(snapshot_ring_take(&ring));
	snapshot_ring_give(&ring, first);
	snapshot_ring_give(&ring, second);
	taken = snapshot_ring_take(&ring);
	assert_ptr_equal(taken, second);
	snapshot_ring_give(&ring, taken);
	assert_ptr_equal(snapshot_ring_take(&ring), second);
	assert_ptr_equal(snapshot_ring_take(&ring), first);
	assert_null(snapshot_ring_take(&ring));
	snapshot_ring_give(&ring, first);
	snapshot_ring_give(&ring, second);
	snapshot_ring_release(&ring);
}

static void test_ring__keeps_no_more_than_it_has_slots(void **state)
{
	struct snapshot_ring ring = {0};
	size_t nr = 0;

	(void)state;
	for (size_t i = 0; i < SNAPSHOT_RING_SLOTS + 10; i++)
		snapshot_ring_give(&ring, snapshot_of(1));
	for (struct snapshot *one; (one = snapshot_ring_take(&ring)); nr++) {
		snapshot_release(one);
		free(one);
	}
	assert_int_equal(nr, SNAPSHOT_RING_SLOTS);
}

static void test_ring__keeps_no_large_ones(void **state)
{
	struct snapshot_ring ring = {0};

	(void)state;
	snapshot_ring_give(&ring, snapshot_of(SNAPSHOT_KEPT_BYTES + 1));
	assert_null(snapshot_ring_take(&ring));
}

static void test_snapshot_copy__fits_into_used_ones(void **state)
{
	struct snapshot *large = snapshot_of(100);
	struct snapshot *small = snapshot_of(3);
	size_t cap_bytes = large->cap_bytes;
	char bytes[4] = {0};

	(void)state;
	snapshot_copy(large, small);
	assert_int_equal(large->nr_bytes, 3);
	assert_int_equal(large->cap_bytes, cap_bytes);
	assert_true(snapshot_read(large, 4096, bytes, 3));
	assert_string_equal(bytes, "xxx");
	assert_false(snapshot_read(large, 4096, bytes, 4));
	snapshot_release(large);
	snapshot_copy(large, small);
	assert_true(snapshot_read(large, 4096, bytes, 3));
	snapshot_release(large);
	snapshot_release(small);
	free(large);
	free(small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring__gives_back_the_latest),
		cmocka_unit_test(test_ring__keeps_no_more_than_it_has_slots),
		cmocka_unit_test(test_ring__keeps_no_large_ones),
		cmocka_unit_test(test_snapshot_copy__fits_into_used_ones),
	};

	return cmocka_run_group_tests_name("collector queue", tests, NULL, NULL);
}
