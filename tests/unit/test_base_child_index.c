// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/child_index.h"
#include "tests/unit/unit.h"

TEST(child_index, is_empty_at_first)
{
	struct child_index index = {0};

	assert_int_equal(child_index_find(&index, 0, 0), INDEX_NONE);
	assert_int_equal(child_index_find(&index, 7, 1), INDEX_NONE);
	child_index_release(&index);
}

/* Nodes of one to two hundred children, each found by its key and under its parent alone. */
TEST(child_index, finds_children_of_few_and_of_many)
{
	struct child_index index = {0};
	uint32_t node = 201;

	for (uint32_t parent = 1; parent <= 200; parent++)
		child_index_add(&index, 0, parent * 3, parent);
	for (uint32_t round = 0; round < 200; round++)
		for (uint32_t parent = round + 1; parent <= 200; parent++)
			child_index_add(&index, parent, UINT32_MAX - round, node++);
	node = 201;
	for (uint32_t round = 0; round < 200; round++)
		for (uint32_t parent = 1; parent <= 200; parent++)
			assert_int_equal(child_index_find(&index, parent, UINT32_MAX - round),
					 parent > round ? node++ : INDEX_NONE);
	for (uint32_t key = 0; key <= 602; key++)
		assert_int_equal(child_index_find(&index, 0, key),
				 key && key <= 600 && key % 3 == 0 ? key / 3 : INDEX_NONE);
	/* A node that has none, and one that is not there. */
	assert_int_equal(child_index_find(&index, 201, UINT32_MAX), INDEX_NONE);
	assert_int_equal(child_index_find(&index, node, UINT32_MAX), INDEX_NONE);
	child_index_release(&index);
	assert_int_equal(index.nr, 0);
}

/* What was left out has no parent, and may have children. */
TEST(child_index, numbers_may_be_left_out)
{
	struct child_index index = {0};

	child_index_add(&index, 5, 1, 10);
	child_index_add(&index, 7, 1, 20);
	assert_int_equal(child_index_find(&index, 5, 1), 10);
	assert_int_equal(child_index_find(&index, 7, 1), 20);
	assert_int_equal(child_index_find(&index, 0, 0), INDEX_NONE);
	assert_int_equal(child_index_find(&index, 6, 1), INDEX_NONE);
	child_index_release(&index);
}
