// SPDX-License-Identifier: GPL-2.0-or-later
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/phases.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

#define PATTERNS(...)                                                                              \
	{                                                                                          \
		.texts = (const char *const[]){__VA_ARGS__},                                       \
		.nr = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)                  \
	}

/*
 * Four samples of two threads of two processes:
 *	0: pid 100 tid 100 "prog"      main;parse            1 ms
 *	1: pid 100 tid 101 "worker-1"  start;run;libz!inflate 2 ms
 *	2: pid 200 tid 200 "child"     main;run              4 ms
 *	3: pid 100 tid 100 "prog"      unattributed          8 ms
 */
static struct profile *four_samples(void)
{
	struct made made = made_begin();
	struct thread_id first = made.thread;

	made_sample(&made, "main;parse", 1);
	made_thread(&made, 100, 101, "worker-1");
	made_sample(&made, "start;run;libz!inflate", 2);
	made_thread(&made, 200, 200, "child");
	made_sample(&made, "main;run", 4);
	made.thread = first;
	made_sample(&made, "", 8)->kind = SAMPLE_UNATTRIBUTED;
	return made_end(&made);
}

/* The CPU milliseconds of what a filter selects. */
static uint64_t selected_ms(const struct profile *profile, const struct filter *filter)
{
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection;
	struct selection_walk walk;
	struct sample sample;
	uint64_t sum_ns = 0;

	assert_int_equal(selection_new(expansion, filter, &selection, NULL), 0);
	selection_walk_init(&walk, selection);
	while (selection_walk_next(&walk, &sample))
		sum_ns += sample.cpu_ns;
	selection_walk_release(&walk);
	selection_free(selection);
	expansion_free(expansion);
	return sum_ns / 1000000;
}

TEST(filter, patterns_choose_samples)
{
	const struct {
		struct filter filter;
		uint64_t expected_ms;
	} cases[] = {
		{{.from_ns = 0}, 15},
		{{.threads = PATTERNS("^worker")}, 2},
		{{.threads = PATTERNS("200", "101")}, 6},
		{{.processes = PATTERNS("100")}, 11},
		{{.processes = PATTERNS("chi")}, 4},
		{{.modules = PATTERNS("libz")}, 2},
		{{.modules = PATTERNS("prog$")}, 5},
		{{.functions = PATTERNS("^run$")}, 6},
		{{.functions = PATTERNS("^run$"), .modules = PATTERNS("libz")}, 2},
		{{.functions = PATTERNS("parse", "inflate")}, 3},
		{{.functions = PATTERNS("nowhere")}, 0},
	};
	struct profile *profile = four_samples();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(selected_ms(profile, &cases[i].filter), cases[i].expected_ms);
	profile_free(profile);
}

/* The number of a set of labels, which is "KEY=VALUE KEY=VALUE". */
static uint32_t set_of(struct profile *profile, const char *text)
{
	uint32_t number = 0;

	while (*text) {
		size_t key = strcspn(text, "="), value = strcspn(text + key + 1, " ");
		const struct profile_label row = {
			.outer = number,
			.key = strtab_intern_n(profile->strings, text, key),
			.value = strtab_intern_n(profile->strings, text + key + 1, value)};

		number = profile_labels_intern(profile_labels(profile), &row);
		text += key + 1 + value;
		text += *text == ' ';
	}
	return number;
}

TEST(filter, labels_choose_samples)
{
	const struct {
		struct filter filter;
		uint64_t expected_ms;
	} cases[] = {
		{{.labels = PATTERNS("route=/a")}, 3},
		{{.labels = PATTERNS("route=/a", "route=/b")}, 7},
		{{.labels = PATTERNS("route=/a", "user=eve")}, 2},
		{{.labels = PATTERNS("user=eve", "route=/b", "route=/a")}, 2},
		{{.labels = PATTERNS("route")}, 7},
		{{.labels = PATTERNS("user")}, 2},
		{{.labels = PATTERNS("route=/")}, 0},
		{{.labels = PATTERNS("route=/a"), .threads = PATTERNS("worker")}, 2},
	};
	const struct filter unknown = {.labels = PATTERNS("rout=/a")};
	struct profile *profile = four_samples();
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection;
	struct err err = ERR_INIT;

	profile->samples[0].labels = set_of(profile, "route=/a");
	profile->samples[1].labels = set_of(profile, "route=/a user=eve");
	profile->samples[2].labels = set_of(profile, "route=/b");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(selected_ms(profile, &cases[i].filter), cases[i].expected_ms);
	assert_int_equal(selection_new(expansion, &unknown, &selection, &err), ERR_NOT_FOUND);
	assert_non_null(strstr(err.hint, "route, user"));
	expansion_free(expansion);
	profile_free(profile);
}

TEST(filter, time_range_cuts_samples)
{
	struct made made = made_begin();
	struct filter middle = {.from_ns = 5000000, .to_ns = 12000000};
	struct filter late = {.from_ns = 12000000};

	made_sample(&made, "main", 10); /* 0 … 10 ms */
	made_sample(&made, "main", 10); /* 10 … 20 ms */
	made_end(&made);
	assert_int_equal(selected_ms(made.profile, &middle), 5 + 2);
	assert_int_equal(selected_ms(made.profile, &late), 8);
	profile_free(made.profile);
}

TEST(filter, times_before_the_trigger)
{
	const struct {
		struct filter filter;
		uint64_t expected_ms;
	} cases[] = {
		{{.from_ns = 4000000, .from_before_trigger = true}, 12},
		{{.to_ns = 4000000, .to_before_trigger = true}, 8},
		{{.to_before_trigger = true}, 12},
		{{.from_ns = 9000000,
		  .to_ns = 4000000,
		  .from_before_trigger = true,
		  .to_before_trigger = true},
		 5},
		/* It begins where the recording does. */
		{{.from_ns = 90000000, .to_ns = 15000000, .from_before_trigger = true}, 15},
	};
	struct filter too_early = {.to_ns = 12000000, .to_before_trigger = true};
	struct made made = made_begin();
	struct expansion *expansion;
	struct selection *selection;
	struct err err = ERR_INIT;

	made_sample(&made, "main", 20);
	made_end(&made);
	expansion = expansion_new(made.profile, false);
	assert_int_equal(selection_new(expansion, &cases[0].filter, &selection, &err),
			 ERR_NOT_FOUND);
	assert_non_null(strstr(err.what, "the recording has none"));
	profile_set_counter(made.profile, "trigger_ns", 12000000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(selected_ms(made.profile, &cases[i].filter), cases[i].expected_ms);
	assert_int_equal(selection_new(expansion, &too_early, &selection, &err), ERR_NOT_FOUND);
	expansion_free(expansion);
	profile_free(made.profile);
}

#define MARK(text_)                                                                                \
	{                                                                                          \
		.text = (text_), .nr_bytes = sizeof(text_) - 1                                     \
	}

TEST(filter, time_range_is_between_marks)
{
	const struct {
		struct filter filter;
		uint64_t expected_ms;
	} cases[] = {
		{{.from_mark = MARK("a"), .to_mark = MARK("b")}, 3},
		{{.from_mark = MARK("b"), .to_mark = MARK("b")}, 10},
		{{.to_mark = MARK("b")}, 5},
		{{.from_mark = MARK("b")}, 15},
		{{.from_ns = 6000000, .to_mark = MARK("b")}, 9},
		{{.from_mark = MARK("a"), .to_ns = 12000000}, 10},
	};
	struct made made = made_begin();

	made_sample(&made, "main", 20);
	made_end(&made);
	/* As of recordings that were merged: in no order of their times. */
	profile_add_mark(made.profile, 15000000, "b");
	profile_add_mark(made.profile, 2000000, "a");
	profile_add_mark(made.profile, 5000000, "b");
	profile_add_mark(made.profile, 1000000, "ab");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(selected_ms(made.profile, &cases[i].filter), cases[i].expected_ms);
	profile_free(made.profile);
}

/* Two runs at the same time, of 20 ms, in which a to b takes 3 and 8 ms. */
static struct profile *two_runs(void)
{
	const struct profile_run run = {
		.start_realtime_ns = 7, .duration_ns = 20000000, .nr_processes = 1, .nr_marks = 2};
	struct made made = made_begin();

	made_sample(&made, "main", 20);
	made_thread(&made, 200, 200, "prog");
	made_sample(&made, "main", 20)->time_ns = 20000000;
	made_end(&made);
	made.profile->meta.start_realtime_ns = 7;
	profile_add_mark(made.profile, 2000000, "a");
	profile_add_mark(made.profile, 5000000, "b");
	profile_add_mark(made.profile, 10000000, "a");
	profile_add_mark(made.profile, 18000000, "b");
	profile_add_run(made.profile, &run);
	profile_add_run(made.profile, &run);
	return made.profile;
}

TEST(filter, a_moment_is_of_one_run)
{
	const struct filter both = {.heap = {.at = FILTER_AT_MARK, .at_mark = MARK("a")}};
	const struct filter second = {.processes = PATTERNS("200"),
				      .heap = {.at = FILTER_AT_MARK, .at_mark = MARK("a")}};
	struct profile *profile = two_runs();
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection;
	struct err err = ERR_INIT;

	assert_int_equal(selection_new(expansion, &both, &selection, &err), ERR_INVALID);
	assert_string_equal(err.what,
			    "2 of the merged runs have the mark 'a', each at its own time");
	assert_int_equal(selection_new(expansion, &second, &selection, NULL), 0);
	assert_int_equal(selection->heap.at_ns, 10000000);
	selection_free(selection);
	expansion_free(expansion);
	profile_free(profile);
}

TEST(filter, marks_are_of_their_run)
{
	const struct {
		struct filter filter;
		uint64_t expected_ms;
	} cases[] = {
		{{.from_mark = MARK("a"), .to_mark = MARK("b")}, 3 + 8},
		{{.to_mark = MARK("b")}, 5 + 18},
		{{.from_mark = MARK("b")}, 15 + 2},
		{{.from_ns = 7000000, .to_mark = MARK("b")}, 11}, /* the first has none then */
		{{.from_ns = 7000000, .to_ns = 9000000}, 2 + 2},
	};
	struct profile *profile = two_runs();

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(selected_ms(profile, &cases[i].filter), cases[i].expected_ms);
	/* Those of earlier versions do not say of which run a process is: they have one time. */
	profile->runs.rows[1].nr_processes = 0;
	assert_int_equal(selected_ms(profile, &cases[0].filter), 3 + 3);
	profile_free(profile);
}

/* A file may say that there are as many runs as marks. */
TEST(filter, each_mark_is_looked_at_once_and_not_for_each_run)
{
	const struct filter filter = {.from_mark = MARK("a")};
	const struct profile_run run = {.start_realtime_ns = 7, .duration_ns = 20000000};
	const size_t nr = 1000000;
	struct profile *profile = two_runs();
	struct phases *phases;

	for (size_t i = 0; i < nr; i++) {
		profile_add_mark(profile, 3000000, "b");
		profile_add_run(profile, &run);
	}
	profile->runs.rows[1].nr_marks += nr;
	alarm(60);
	assert_int_equal(selected_ms(profile, &filter), 18 + 10);
	phases = phases_new(profile);
	alarm(0);
	assert_int_equal(phases->nr, nr + 2 + nr + 4);
	phases_free(phases);
	profile_free(profile);
}

static void expect_no_mark(const struct profile *profile, const struct filter *filter,
			   const char *what)
{
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(selection_new(expansion, filter, &selection, &err), ERR_NOT_FOUND);
	assert_string_equal(err.what, what);
	expansion_free(expansion);
}

TEST(filter, marks_that_are_not_there_are_said)
{
	const struct filter nowhere = {.from_mark = MARK("c")};
	const struct filter too_early = {.from_ns = 3000000, .to_mark = MARK("a")};
	struct profile *profile = four_samples();

	profile_add_mark(profile, 2000000, "a");
	expect_no_mark(profile, &nowhere, "no mark 'c' in the recording");
	expect_no_mark(profile, &too_early,
		       "no mark 'a' in the recording after the start of the time range");
	profile_free(profile);
}

/* The observations that one sample stands for: of 9 over 90 ms, so many in a part of it. */
static uint32_t nr_selected(const struct profile *profile, uint64_t from_ms, uint64_t to_ms)
{
	const struct filter filter = {.from_ns = from_ms * 1000000, .to_ns = to_ms * 1000000};
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection;
	struct selection_walk walk;
	struct sample sample;
	uint32_t nr = 0;

	assert_int_equal(selection_new(expansion, &filter, &selection, NULL), 0);
	selection_walk_init(&walk, selection);
	while (selection_walk_next(&walk, &sample))
		nr += sample.nr;
	selection_walk_release(&walk);
	selection_free(selection);
	expansion_free(expansion);
	return nr;
}

TEST(filter, time_range_cuts_observations)
{
	struct made made = made_begin();

	made_sample(&made, "main", 90)->nr = 9;
	made_end(&made);
	assert_int_equal(nr_selected(made.profile, 0, 0), 9);
	assert_int_equal(nr_selected(made.profile, 0, 45), 5);
	assert_int_equal(nr_selected(made.profile, 89, 90), 1); /* it was seen there */
	assert_int_equal(nr_selected(made.profile, 90, 91), 0);
	profile_free(made.profile);
}

TEST(filter, says_what_is_wrong)
{
	struct profile *profile = four_samples();
	struct expansion *expansion = expansion_new(profile, false);
	struct filter bad_regex = {.functions = PATTERNS("foo(")};
	struct filter bad_time = {.from_ns = 10, .to_ns = 5};
	struct selection *selection = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(selection_new(expansion, &bad_regex, &selection, &err), ERR_INVALID);
	assert_non_null(strstr(err.what, "'foo('"));
	assert_int_equal(selection_new(expansion, &bad_time, &selection, &err), ERR_INVALID);
	assert_null(selection);
	expansion_free(expansion);
	profile_free(profile);
}
