// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/child_index.h"

static void test_child_index__is_empty_at_first(void **state)
{
	struct child_index index = {0};

	(void)state;
	assert_int_equal(child_index_find(&index, 0, 0), INDEX_NONE);
	assert_int_equal(child_index_find(&index, 7, 1), INDEX_NONE);
	child_index_release(&index);
}

/* Nodes of one to two hundred children, each found by its key and under its parent alone. */
static void test_child_index__finds_children_of_few_and_of_many(void **state)
{
	struct child_index index = {0};
	uint32_t node = 201;

	(void)state;
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
static void test_child_index__numbers_may_be_left_out(void **state)
{
	struct child_index index = {0};

	(void)state;
	child_index_add(&index, 5, 1, 10);
	child_index_add(&index, 7, 1, 20);
	assert_int_equal(child_index_find(&index, 5, 1), 10);
	assert_int_equal(child_index_find(&index, 7, 1), 20);
	assert_int_equal(child_index_find(&index, 0, 0), INDEX_NONE);
	assert_int_equal(child_index_find(&index, 6, 1), INDEX_NONE);
	child_index_release(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_child_index__is_empty_at_first),
		cmocka_unit_test(test_child_index__finds_children_of_few_and_of_many),
		cmocka_unit_test(test_child_index__numbers_may_be_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
