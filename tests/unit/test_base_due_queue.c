// SPDX-License-Identifier: GPL-2.0-or-later
/* What is due, in the order of time. */
#include "base/due_queue.h"
#include "tests/unit/unit.h"

#define NR 100

TEST(due_queue, gives_back_in_order_of_time)
{
	struct due_queue queue = {0};
	struct due dues[NR] = {0};
	uint64_t last_ns = 0;

	for (size_t i = 0; i < NR; i++) {
		dues[i].of = &dues[i];
		due_queue_put(&queue, &dues[i], 1 + i * 37 % NR);
	}
	/* Put anew they have their new times; removed ones do not come. */
	for (size_t i = 0; i < NR; i += 3)
		due_queue_put(&queue, &dues[i], 1 + i * 53 % NR);
	for (size_t i = 0; i < NR; i += 10)
		due_queue_remove(&queue, &dues[i]);
	for (size_t i = 0; i < NR - NR / 10; i++) {
		struct due *due = due_queue_take(&queue, UINT64_MAX);

		assert_non_null(due);
		assert_true(due->due_ns >= last_ns);
		assert_int_equal(due->place, 0);
		last_ns = due->due_ns;
	}
	assert_null(due_queue_take(&queue, UINT64_MAX));
	due_queue_release(&queue);
}

TEST(due_queue, gives_nothing_before_its_time)
{
	struct due_queue queue = {0};
	struct due due = {.of = &queue};

	due_queue_put(&queue, &due, 10);
	assert_null(due_queue_take(&queue, 9));
	assert_ptr_equal(due_queue_take(&queue, 10), &queue);
	due_queue_remove(&queue, &due); /* not there any more: no effect */
	due_queue_release(&queue);
}
