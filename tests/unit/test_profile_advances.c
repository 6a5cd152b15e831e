// SPDX-License-Identifier: GPL-2.0-or-later
/* Which code the advances of counters are attributed to. */
#include "base/buf.h"
#include "calltree/flat.h"
#include "profile/prepare.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/weighed_fixture.h"

static void advance(struct made *made, const char *before, const char *after, uint64_t amount,
		    bool is_seen)
{
	struct profile_advance row = {.time_ns = made->time_ns++,
				      .amount = amount,
				      .thread = made->thread,
				      .before = made_stack(made->profile, before),
				      .after = made_stack(made->profile, after),
				      .counter = KERNEL_COUNTER_FAULTS,
				      .end = STACK_END_ROOT,
				      .is_seen = is_seen};

	made->profile->meta.duration_ns = made->time_ns;
	advances_add(&made->profile->advances, &row);
}

/* "outermost>...>leaf" of the only advance. */
static char *charged_path(struct made *made)
{
	struct profile *profile = made_end(made);
	struct buf path = {0};
	struct level_list levels = {0};
	struct expansion *expansion;
	struct sample sample = {.kind = SAMPLE_RUNNING, .end = STACK_END_ROOT};

	profile_prepare(profile);
	expansion = expansion_new(profile, false);
	sample.stack = profile->advances.charged[0];
	expansion_stack(expansion, &sample, &levels);
	for (size_t i = 0; i < levels.nr; i++) {
		buf_append_str(&path, i ? ">" : "");
		label_append_name(&path, expansion, levels.levels[i].label, NAME_FULL);
	}
	buf_append_byte(&path, '\0');
	level_list_release(&levels);
	expansion_free(expansion);
	profile_free(profile);
	return (char *)path.bytes;
}

static void check(const char *before, const char *after, bool is_seen, const char *expected)
{
	struct made made = made_begin();
	char *path;

	advance(&made, before, after, 7, is_seen);
	path = charged_path(&made);
	assert_string_equal(path, expected);
	free(path);
}

TEST(advances, go_below_the_deepest_common_function)
{
	check("main@m.c:1;work@w.c:1;a@a.c:1", "main@m.c:1;work@w.c:1;b@b.c:1", true,
	      "main>work>[between samples]");
	/* It is on both stacks, in different places. */
	check("main@m.c:1;work@w.c:1;a@a.c:1", "main@m.c:1;work@w.c:2;b@b.c:1", true,
	      "main>work>[between samples]");
	check("main@m.c:1;work@w.c:1", "main@m.c:1;work@w.c:2;b@b.c:1", true,
	      "main>work>[between samples]");
	check("main@m.c:1;a@a.c:1", "main@m.c:2;b@b.c:1", true, "main>[between samples]");
}

TEST(advances, of_a_leaf_are_its_own_if_they_were_seen)
{
	check("main@m.c:1;work@w.c:1", "main@m.c:1;work@w.c:2", true, "main>work");
	check("main@m.c:1;work@w.c:1", "main@m.c:1;work@w.c:1", true, "main>work");
	check("main@m.c:1;work@w.c:1", "main@m.c:1;work@w.c:2", false, "main>[between samples]");
	check("main@m.c:1;work@w.c:1", "main@m.c:1;work@w.c:1", false, "main>[between samples]");
}

TEST(advances, in_another_inlined_function_are_not_of_the_same_leaf)
{
	check("main@m.c:1;work@w.c:1+sum@s.c:1", "main@m.c:1;work@w.c:1+sum@s.c:2", true,
	      "main>work>sum");
	/* What is inlined there is left, or entered, in between. */
	check("main@m.c:1;work@w.c:1+sum@s.c:1", "main@m.c:1;work@w.c:3", true, "main>work");
	check("main@m.c:1;work@w.c:3", "main@m.c:1;work@w.c:1+sum@s.c:1", true, "main>work");
	check("main@m.c:1;work@w.c:1+sum@s.c:1", "main@m.c:1;work@w.c:1+other@s.c:2", true,
	      "main>[between samples]");
}

TEST(advances, of_stacks_with_nothing_in_common_are_of_no_code)
{
	check("main@m.c:1;a@a.c:1", "start@s.c:1;b@b.c:1", true, "[no stack]");
	check("main@m.c:1;a@a.c:1", "", true, "[no stack]");
	check("", "main@m.c:1;a@a.c:1", true, "[no stack]");
}

/* Bursts of others: of thirty samples of spin() one has seen an advance. */
TEST(advances, rarely_seen_in_a_leaf_are_not_its_own)
{
	struct made made = made_begin();
	char *path;

	for (int i = 0; i < 30; i++)
		advance(&made, "main@m.c:1;spin@w.c:1", "main@m.c:1;spin@w.c:2", 40, i == 0);
	path = charged_path(&made);
	assert_string_equal(path, "main>[between samples]");
	free(path);
}

static const struct flat_row *find(const struct flat *flat, const char *name)
{
	for (size_t i = 0; i < flat->nr; i++) {
		struct buf text = {0};
		bool is;

		flat_append_name(&text, flat, &flat->rows[i], NAME_FULL);
		is = strcmp(buf_str(&text), name) == 0;
		buf_release(&text);
		if (is)
			return &flat->rows[i];
	}
	return NULL;
}

/*
 *	  self   total
 *	    30      70  work
 *	    40      40  [between samples]
 *	     5       5  [unattributed]
 *	     0      70  main
 */
TEST(advances, are_a_metric_of_tables)
{
	struct made made = made_begin();
	struct profile *profile;
	struct weighed_fixture of;
	struct flat *flat;

	advance(&made, "", "main@m.c:1;work@w.c:1", 5, false);
	advance(&made, "main@m.c:1;work@w.c:1", "main@m.c:1;work@w.c:2", 30, true);
	advance(&made, "main@m.c:1;work@w.c:2;a@a.c:1", "main@m.c:1;work@w.c:2", 40, true);
	profile = made_end(&made);
	profile_prepare(profile);
	assert_int_equal(profile_total(profile, metric_of_counter(KERNEL_COUNTER_FAULTS)), 75);
	assert_int_equal(profile_total(profile, metric_of_counter(KERNEL_COUNTER_SWITCHES)), 0);
	assert_false(profile_has_metric(profile, metric_of_counter(KERNEL_COUNTER_SWITCHES)));
	of = weighed_new(profile, NULL, metric_of_counter(KERNEL_COUNTER_FAULTS));
	flat = flat_new(of.weights, BY_FUNCTION);
	assert_int_equal(of.weights->total.weight, 75);
	assert_int_equal(find(flat, "work")->self.weight, 30);
	assert_int_equal(find(flat, "work")->total.weight, 70);
	assert_int_equal(find(flat, "[between samples]")->self.weight, 40);
	assert_int_equal(find(flat, "[unattributed]")->self.weight, 5);
	assert_int_equal(find(flat, "main")->self.weight, 0);
	assert_int_equal(find(flat, "main")->total.weight, 70);
	flat_free(flat);
	weighed_free(&of);
	profile_free(profile);
}

TEST(advances, keep_focus_and_hidden_functions)
{
	struct pattern_list focus = {.texts = (const char *const[]){"^work$"}, .nr = 1};
	const struct filter filter = {.shape = {.focus = focus}};
	struct made made = made_begin();
	struct profile *profile;
	struct weighed_fixture of;
	struct flat *flat;

	advance(&made, "main@m.c:1;work@w.c:1", "main@m.c:1;work@w.c:2", 30, true);
	advance(&made, "main@m.c:1;b@a.c:1;c@a.c:1", "main@m.c:1;b@a.c:1;d@a.c:1", 40, true);
	profile = made_end(&made);
	profile_prepare(profile);
	of = weighed_new(profile, &filter, metric_of_counter(KERNEL_COUNTER_FAULTS));
	flat = flat_new(of.weights, BY_FUNCTION);
	assert_int_equal(of.weights->total.weight, 30);
	assert_null(find(flat, "main"));
	flat_free(flat);
	weighed_free(&of);
	profile_free(profile);
}

static void advance_both(struct made *made, uint64_t instructions, uint64_t cycles)
{
	advance(made, "main@m.c:1", "main@m.c:2", instructions, true);
	made->profile->advances.rows[made->profile->advances.nr - 1].counter =
		KERNEL_COUNTER_INSTRUCTIONS;
	advance(made, "main@m.c:1", "main@m.c:2", cycles, true);
	made->profile->advances.rows[made->profile->advances.nr - 1].counter =
		KERNEL_COUNTER_CYCLES;
}

static bool per_cycle(const struct flat *flat, uint32_t thread, double *instructions)
{
	for (size_t i = 0; i < flat->nr; i++)
		if (flat->rows[i].thread == thread)
			return flat_row_per_cycle(flat, &flat->rows[i], instructions);
	return false;
}

TEST(instructions, per_cycle_are_those_of_threads)
{
	struct pattern_list functions = {.texts = (const char *const[]){"main"}, .nr = 1};
	const struct filter filter = {.functions = functions};
	struct made made = made_begin();
	struct thread_id first = made.thread, second, third;
	struct profile *profile;
	struct weighed_fixture of;
	struct flat *flat;
	double value = 0;

	advance_both(&made, 300, 100);
	advance_both(&made, 200, 100);
	second = made_thread(&made, 100, 101, "other");
	advance_both(&made, 50, 200);
	third = made_thread(&made, 100, 102, "idle");
	advance_both(&made, 50, 0);
	profile = made_end(&made);
	profile_prepare(profile);
	of = weighed_new(profile, NULL, metric_of_counter(KERNEL_COUNTER_INSTRUCTIONS));
	flat = flat_new(of.weights, BY_THREAD);
	assert_true(per_cycle(flat, first.v, &value));
	assert_true(value == 2.5);
	assert_true(per_cycle(flat, second.v, &value));
	assert_true(value == 0.25);
	assert_false(per_cycle(flat, third.v, &value));
	flat_free(flat);
	/* Shorter than a hundred samples. */
	flat = flat_new(of.weights, BY_MARK);
	assert_int_equal(flat->nr, 1);
	assert_false(flat_row_per_cycle(flat, &flat->rows[0], &value));
	flat_free(flat);
	flat = flat_new(of.weights, BY_FUNCTION);
	assert_null(flat->cycles);
	flat_free(flat);
	weighed_free(&of);
	/* What of the cycles is a function's own is an estimate. */
	of = weighed_new(profile, &filter, metric_of_counter(KERNEL_COUNTER_INSTRUCTIONS));
	flat = flat_new(of.weights, BY_THREAD);
	assert_null(flat->cycles);
	flat_free(flat);
	weighed_free(&of);
	profile_free(profile);
}
