// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/err.h"
#include "calltree/expand.h"
#include "calltree/find.h"
#include "calltree/tree.h"
#include "calltree/weights.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"

enum kind {
	TREE_WHOLE,
	TREE_CALLERS,
	TREE_CALLEES,
};

static struct tree *plant(const struct weights *weights, enum kind kind, const char *function)
{
	struct tree *tree;
	bool *wanted;

	if (kind == TREE_WHOLE)
		return tree_new(weights);
	assert_int_equal(find_labels(weights->selection->expansion, function, &wanted, NULL), 0);
	tree = kind == TREE_CALLERS ? tree_new_callers(weights, wanted)
				    : tree_new_callees(weights, wanted);
	free(wanted);
	return tree;
}

/* A node a line, indented by depth: "total self name". Milliseconds. */
static void append_tree(struct buf *out, const struct tree *tree, uint32_t node, int depth)
{
	for (uint32_t at = tree->nodes[node].first_child; at; at = tree->nodes[at].next_sibling) {
		const struct tree_node *child = &tree->nodes[at];

		buf_printf(out, "%*s%lu %lu ", depth * 2, "",
			   (unsigned long)(child->total.weight / 1000000),
			   (unsigned long)(child->self.weight / 1000000));
		label_append_name(out, tree->weights->selection->expansion, child->label,
				  NAME_FULL);
		buf_append_str(out, child->inlined ? " inlined\n" : "\n");
		append_tree(out, tree, at, depth + 1);
	}
}

static void expect_tree(const struct profile *profile, enum kind kind, const char *function,
			const char *expected)
{
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_CPU);
	struct tree *tree;
	struct buf text = {0};

	tree = plant(weighed.weights, kind, function);
	append_tree(&text, tree, TREE_ROOT, 0);
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
	tree_free(tree);
	weighed_free(&weighed);
}

static struct profile *parser_and_evaluator(void)
{
	struct made made = made_begin();

	made_sample(&made, "main;parse;alloc", 1);
	made_sample(&made, "main;eval@e.c:1+add@e.c:9;alloc", 2);
	made_sample(&made, "main;eval@e.c:2", 4);
	made_sample(&made, "main;eval@e.c:3;eval@e.c:1+add@e.c:9", 8);
	made_sample(&made, "eval@e.c:2", 16)->end = STACK_END_BAD_MEMORY;
	made_sample(&made, "", 32)->kind = SAMPLE_UNATTRIBUTED;
	return made_end(&made);
}

TEST(tree, from_the_roots_down)
{
	struct profile *profile = parser_and_evaluator();

	/* Nothing is hidden: what is broken or lost stands beside main. */
	expect_tree(profile, TREE_WHOLE, NULL,
		    "32 32 [unattributed]\n"
		    "16 0 [truncated: memory not copied]\n"
		    "  16 16 eval\n"
		    "15 0 main\n"
		    "  14 4 eval\n"
		    "    8 0 eval\n"
		    "      8 8 add inlined\n"
		    "    2 0 add inlined\n"
		    "      2 2 alloc\n"
		    "  1 0 parse\n"
		    "    1 1 alloc\n");
	profile_free(profile);
}

TEST(tree, work_for_page_faults_is_below_the_function_where_it_is_wanted)
{
	struct made made = made_begin();
	struct tree_request request = {.has_faults = true};
	struct weighed_fixture weighed;
	struct profile *profile;
	struct tree *tree;
	struct buf text = {0};

	made_sample(&made, "main;fill", 1);
	made_sample(&made, "main;fill", 4)->syscall_nr = SAMPLE_PAGE_FAULT;
	made_sample(&made, "main;fill", 2)->syscall_nr = 1;
	profile = made_end(&made);
	expect_tree(profile, TREE_WHOLE, NULL, "7 0 main\n  7 7 fill\n");
	weighed = weighed_new(profile, NULL, METRIC_CPU);
	tree = tree_new_as(weighed.weights, &request);
	append_tree(&text, tree, TREE_ROOT, 0);
	assert_string_equal(buf_str(&text), "7 0 main\n"
					    "  7 3 fill\n"
					    "    4 4 [page fault]\n");
	buf_release(&text);
	tree_free(tree);
	weighed_free(&weighed);
	profile_free(profile);
}

TEST(tree, callees_count_the_outermost_call)
{
	struct profile *profile = parser_and_evaluator();

	expect_tree(profile, TREE_CALLEES, "eval",
		    "30 20 eval\n"
		    "  8 0 eval\n"
		    "    8 8 add inlined\n"
		    "  2 0 add inlined\n"
		    "    2 2 alloc\n");
	expect_tree(profile, TREE_CALLEES, "add", "10 8 add inlined\n  2 2 alloc\n");
	profile_free(profile);
}

TEST(tree, callers_up_to_the_root)
{
	struct profile *profile = parser_and_evaluator();

	expect_tree(profile, TREE_CALLERS, "alloc",
		    "3 0 alloc\n"
		    "  2 0 add inlined\n"
		    "    2 0 eval\n"
		    "      2 2 main\n"
		    "  1 0 parse\n"
		    "    1 1 main\n");
	expect_tree(profile, TREE_CALLERS, "eval",
		    "30 0 eval\n"
		    "  16 16 [truncated: memory not copied]\n"
		    "  14 14 main\n");
	profile_free(profile);
}

TEST(tree, several_functions_each_have_a_tree)
{
	struct profile *profile = parser_and_evaluator();

	expect_tree(profile, TREE_CALLEES, "^(parse|add)$",
		    "10 8 add inlined\n"
		    "  2 2 alloc\n"
		    "1 0 parse\n"
		    "  1 1 alloc\n");
	profile_free(profile);
}

TEST(tree, unknown_function_is_said)
{
	struct profile *profile = parser_and_evaluator();
	struct expansion *expansion = expansion_new(profile, false);
	struct err err = ERR_INIT;
	bool *wanted = NULL;

	assert_int_equal(find_labels(expansion, "evaluate", &wanted, &err), ERR_NOT_FOUND);
	assert_non_null(strstr(err.what, "'evaluate'"));
	assert_int_equal(find_labels(expansion, "a(", &wanted, &err), ERR_INVALID);
	assert_null(wanted);
	expansion_free(expansion);
	profile_free(profile);
}
