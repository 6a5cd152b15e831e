// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/err.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/observe.h"
#include "calltree/weights.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

#define PATTERNS(...)                                                                              \
	{                                                                                          \
		.texts = (const char *const[]){__VA_ARGS__},                                       \
		.nr = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)                  \
	}

/* "main;work+inner 3" a sample or block in the order of the profile, + before inlined levels. */
static void expect_stacks(const struct profile *profile, enum metric metric, uint64_t unit,
			  const struct filter *filter, const char *expected)
{
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection;
	struct level_list list = {0};
	struct observation_walk walk;
	struct observation seen;
	struct buf text = {0};

	assert_int_equal(selection_new(expansion, filter, &selection, NULL), 0);
	observation_walk_init(&walk, selection, metric);
	while (observation_walk_next(&walk, &seen)) {
		expansion_stack(selection->expansion, &seen.sample, &list);
		for (size_t i = 0; i < list.nr; i++) {
			buf_append_str(&text, i == 0 ? "" : list.levels[i].inlined ? "+" : ";");
			/* Labels are those of the original, too. */
			label_append_name(&text, expansion, list.levels[i].label, NAME_FULL);
		}
		buf_printf(&text, " %lu\n", (unsigned long)(seen.weight / unit));
	}
	assert_string_equal(buf_str(&text), expected);
	observation_walk_release(&walk);
	level_list_release(&list);
	buf_release(&text);
	selection_free(selection);
	expansion_free(expansion);
}

static void expect_samples(const struct profile *profile, const struct filter *filter,
			   const char *expected)
{
	expect_stacks(profile, METRIC_CPU, 1000000, filter, expected);
}

static struct profile *made_up(void)
{
	struct made made = made_begin();

	made_sample(&made, "main;work+inner;leaf", 1);
	made_sample(&made, "main;work+inner", 2);
	made_sample(&made, "main;work+inner;work+inner;leaf", 4);
	made_sample(&made, "other;leaf", 8);
	made_sample(&made, "work+inner;leaf", 16)->end = STACK_END_NO_CFI;
	made_sample(&made, "leaf", 32);
	made_sample(&made, "", 64)->kind = SAMPLE_UNATTRIBUTED;
	return made_end(&made);
}

TEST(reshape, hidden_functions_leave_their_time_to_callers)
{
	struct profile *profile = made_up();
	const struct filter leaf = {.shape.hide = PATTERNS("^leaf$")};
	const struct filter inner = {.shape.hide = PATTERNS("^inner$", "^main$")};
	const struct filter work = {.shape.hide = PATTERNS("^work$")};

	expect_samples(profile, &leaf,
		       "main;work+inner 1\nmain;work+inner 2\nmain;work+inner;work+inner 4\n"
		       "other 8\n[truncated: no unwind information];work+inner 16\n[hidden] 32\n"
		       "[unattributed] 64\n");
	expect_samples(
		profile, &inner,
		"work;leaf 1\nwork 2\nwork;work;leaf 4\nother;leaf 8\n"
		"[truncated: no unwind information];work;leaf 16\nleaf 32\n[unattributed] 64\n");
	/* What was inlined into a hidden function is in its caller. */
	expect_samples(
		profile, &work,
		"main+inner;leaf 1\nmain+inner 2\nmain+inner+inner;leaf 4\nother;leaf 8\n"
		"[truncated: no unwind information]+inner;leaf 16\nleaf 32\n[unattributed] 64\n");
	profile_free(profile);
}

TEST(reshape, focus_is_the_root_of_what_it_leaves)
{
	struct profile *profile = made_up();
	const struct filter work = {.shape.focus = PATTERNS("^work$")};
	const struct filter inner = {.shape.focus = PATTERNS("^inner$")};
	const struct filter both = {.shape.focus = PATTERNS("^work$"),
				    .shape.hide = PATTERNS("work", "inner")};
	const struct filter none = {.shape.focus = PATTERNS("nowhere")};

	/* What is missing at the root is missing no more. */
	expect_samples(profile, &work,
		       "work+inner;leaf 1\nwork+inner 2\nwork+inner;work+inner;leaf 4\n"
		       "work+inner;leaf 16\n");
	/* In the middle of a frame, which is whole where it is met again. */
	expect_samples(profile, &inner,
		       "inner;leaf 1\ninner 2\ninner;work+inner;leaf 4\ninner;leaf 16\n");
	expect_samples(profile, &both, "leaf 1\n[hidden] 2\nleaf 4\nleaf 16\n");
	expect_samples(profile, &none, "");
	profile_free(profile);
}

TEST(reshape, other_filters_see_what_it_leaves)
{
	struct made made = made_begin();
	const struct filter module = {.shape.hide = PATTERNS("inflate"),
				      .modules = PATTERNS("libz")};
	const struct filter function = {.shape.focus = PATTERNS("run"),
					.functions = PATTERNS("main")};

	made_sample(&made, "main;run;libz!inflate", 1);
	made_sample(&made, "main;libz!crc", 2);
	made_end(&made);
	expect_samples(made.profile, &module, "main;crc 2\n");
	expect_samples(made.profile, &function, "");
	profile_free(made.profile);
}

TEST(reshape, blocks_have_such_stacks_where_they_are_freed_too)
{
	struct made made = made_begin();
	const struct filter hide = {.shape.hide = PATTERNS("^malloc$", "^free$")};
	const struct filter focus = {.shape.focus = PATTERNS("^drop$")};
	struct stack_id freed;
	struct profile_allocation *row;

	row = made_block(&made, "main;make;malloc", 100, 0, 1);
	row->freed_ns = made.time_ns + SAMPLE_TIME_GRAIN_NS;
	freed = made_stack(made.profile, "main;drop;free");
	row->freed_stack = freed;
	row->freed_end = STACK_END_ROOT + 1;
	made_end(&made);
	expect_stacks(made.profile, METRIC_ALLOC, 1, &hide, "main;make 100\n");
	expect_stacks(made.profile, METRIC_FREED, 1, &hide, "main;drop 100\n");
	expect_stacks(made.profile, METRIC_ALLOC, 1, &focus, "");
	expect_stacks(made.profile, METRIC_FREED, 1, &focus, "drop;free 100\n");
	profile_free(made.profile);
}

TEST(reshape, says_what_it_cannot_know)
{
	struct profile *profile = made_counted();
	struct expansion *expansion = expansion_new(profile, false);
	const struct filter hide = {.shape.hide = PATTERNS("nowhere")};
	const struct filter bad = {.shape.focus = PATTERNS("(")};
	struct selection *selection;
	struct counts *counts;
	struct err err = ERR_INIT;

	assert_int_equal(selection_new(expansion, &hide, &selection, NULL), 0);
	assert_true(selection->hides_nothing);
	assert_true(selection->everything);
	counts = counts_new(selection);
	assert_int_equal(counts->state, COUNTS_FILTERED);
	counts_free(counts);
	selection_free(selection);
	assert_int_equal(selection_new(expansion, &bad, &selection, &err), ERR_INVALID);
	expansion_free(expansion);
	profile_free(profile);
}
