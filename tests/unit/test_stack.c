// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/stack.h"
#include "stack/stack_end.h"
#include "tests/unit/unit.h"

static struct frame_id frame(uint32_t v)
{
	return (struct frame_id){v};
}

TEST(stack, zero_is_the_empty_stack)
{
	struct stack_trie *trie = stack_trie_new();

	assert_int_equal(stack_trie_nr(trie), 1);
	assert_int_equal(stack_trie_depth(trie, STACK_EMPTY), 0);
	assert_int_equal(stack_trie_parent(trie, STACK_EMPTY).v, 0);
	stack_trie_free(trie);
}

TEST(stack, equal_paths_share_an_id)
{
	struct stack_trie *trie = stack_trie_new();
	struct stack_id start = stack_trie_intern(trie, STACK_EMPTY, frame(0));
	struct stack_id main_ = stack_trie_intern(trie, start, frame(1));
	struct stack_id again = stack_trie_intern(trie, start, frame(1));

	assert_int_equal(main_.v, again.v);
	assert_int_equal(stack_trie_nr(trie), 3);
	assert_int_equal(stack_trie_depth(trie, main_), 2);
	assert_int_equal(stack_trie_frame(trie, main_).v, 1);
	assert_int_equal(stack_trie_parent(trie, main_).v, start.v);
	stack_trie_free(trie);
}

TEST(stack, the_same_frame_below_another_parent_differs)
{
	struct stack_trie *trie = stack_trie_new();
	struct stack_id a = stack_trie_intern(trie, STACK_EMPTY, frame(7));
	struct stack_id recursive = stack_trie_intern(trie, a, frame(7));

	assert_int_not_equal(a.v, recursive.v);
	assert_int_equal(stack_trie_depth(trie, recursive), 2);
	stack_trie_free(trie);
}

TEST(stack, parents_precede_children_in_large_tries)
{
	struct stack_trie *trie = stack_trie_new();

	for (uint32_t i = 0; i < 20000; i++) {
		struct stack_id parent = {
			(uint32_t)(i * UINT64_C(2654435761) % stack_trie_nr(trie))};

		stack_trie_intern(trie, parent, frame(i % 300));
	}
	assert_true(stack_trie_nr(trie) > 10000);
	for (uint32_t i = 1; i < stack_trie_nr(trie); i++) {
		struct stack_id id = {i};
		struct stack_id parent = stack_trie_parent(trie, id);

		assert_true(parent.v < i);
		assert_int_equal(stack_trie_intern(trie, parent, stack_trie_frame(trie, id)).v, i);
	}
	stack_trie_free(trie);
}

TEST(stack, appended_stacks_are_found_again)
{
	struct stack_trie *trie = stack_trie_new();
	struct stack_id start = stack_trie_append(trie, STACK_EMPTY, frame(4));
	struct stack_id main_ = stack_trie_append(trie, start, frame(5));

	assert_int_equal(main_.v, 2);
	assert_int_equal(stack_trie_depth(trie, main_), 2);
	assert_int_equal(stack_trie_intern(trie, start, frame(5)).v, main_.v);
	assert_int_equal(stack_trie_intern(trie, start, frame(6)).v, 3);
	assert_int_equal(stack_trie_append(trie, main_, frame(7)).v, 4);
	assert_int_equal(stack_trie_intern(trie, main_, frame(7)).v, 4);
	assert_int_equal(stack_trie_nr(trie), 5);
	stack_trie_free(trie);
}

TEST(stack_end, every_reason_has_its_own_name)
{
	assert_string_equal(stack_end_name(STACK_END_ROOT), "root");
	assert_null(stack_end_remedy(STACK_END_ROOT, false));
	assert_string_not_equal(stack_end_remedy(STACK_END_NO_CFI, false),
				stack_end_remedy(STACK_END_NO_CFI, true));
	for (int i = 0; i < STACK_END_COUNT; i++) {
		assert_true(i == STACK_END_ROOT || stack_end_remedy((enum stack_end)i, false));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(stack_end_name((enum stack_end)i),
						stack_end_name((enum stack_end)j));
	}
}
