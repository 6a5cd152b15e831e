// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "collector/queue.h"
#include "snapshot/snapshot.h"
#include "tests/unit/unit.h"

static struct snapshot *snapshot_of(size_t nr_bytes)
{
	struct snapshot *snapshot = xcalloc(1, sizeof(*snapshot));

	memset(snapshot_add_region(snapshot, 4096, nr_bytes), 'x', nr_bytes);
	return snapshot;
}

TEST(ring, gives_back_the_latest)
{
	struct snapshot_ring ring = {0};
	struct snapshot *first = snapshot_of(10);
	struct snapshot *second = snapshot_of(20);
	struct snapshot *taken;

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

TEST(ring, keeps_no_more_than_it_has_slots)
{
	struct snapshot_ring ring = {0};
	size_t nr = 0;

	for (size_t i = 0; i < SNAPSHOT_RING_SLOTS + 10; i++)
		snapshot_ring_give(&ring, snapshot_of(1));
	for (struct snapshot *one; (one = snapshot_ring_take(&ring)); nr++) {
		snapshot_release(one);
		free(one);
	}
	assert_int_equal(nr, SNAPSHOT_RING_SLOTS);
}

TEST(ring, keeps_no_large_ones)
{
	struct snapshot_ring ring = {0};

	snapshot_ring_give(&ring, snapshot_of(SNAPSHOT_KEPT_BYTES + 1));
	assert_null(snapshot_ring_take(&ring));
}

TEST(snapshot_copy, fits_into_used_ones)
{
	struct snapshot *large = snapshot_of(100);
	struct snapshot *small = snapshot_of(3);
	size_t cap_bytes = large->cap_bytes;
	char bytes[4] = {0};

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
