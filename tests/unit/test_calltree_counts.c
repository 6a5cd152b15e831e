// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

/* The counts of a profile under a filter. */
struct counted {
	struct profile *profile;
	struct expansion *expansion;
	struct selection *selection;
	struct counts *counts;
};

static struct counted count(struct profile *profile, const struct filter *filter)
{
	struct counted counted = {.profile = profile, .expansion = expansion_new(profile, false)};

	assert_int_equal(selection_new(counted.expansion, filter, &counted.selection, NULL), 0);
	counted.counts = counts_new(counted.selection);
	return counted;
}

static void counted_release(struct counted *counted)
{
	counts_free(counted->counts);
	selection_free(counted->selection);
	expansion_free(counted->expansion);
}

static uint32_t label_of(const struct counted *counted, const char *name)
{
	struct buf text = {0};
	uint32_t found = COUNTS_NO_LABEL;

	for (uint32_t i = 0; i < counted->expansion->nr_labels; i++) {
		buf_clear(&text);
		label_append_name(&text, counted->expansion, i, NAME_FULL);
		if (strcmp(buf_str(&text), name) == 0)
			found = i;
	}
	buf_release(&text);
	assert_int_not_equal(found, COUNTS_NO_LABEL);
	return found;
}

#define NOT_COUNTED 999999

static uint64_t calls_of(const struct counted *counted, const char *name)
{
	uint64_t calls = NOT_COUNTED;

	counts_find_function(counted->counts, label_of(counted, name), &calls);
	return calls;
}

static uint64_t calls_between(const struct counted *counted, const char *caller, const char *callee)
{
	uint64_t calls = NOT_COUNTED;
	uint32_t to = *callee ? label_of(counted, callee) : COUNTS_NO_LABEL;

	counts_find_edge(counted->counts, label_of(counted, caller), to, &calls);
	return calls;
}

static const struct count_line *line_of(const struct counted *counted, const char *file,
					uint32_t line)
{
	return counts_find_line(counted->counts, profile_intern(counted->profile, file), line);
}

/*
 * main calls work at line 20, twice in its own code and three times where `step` is inlined into
 * it, which is written at line 7 of s.h; and what is not known at line 30.
 */
static struct profile *counted_calls(void)
{
	struct made made = made_begin();

	made_sample(&made, "main@a.c:20;work@w.c:5+square@v.h:3", 4);
	made_count(&made, "work@w.c:1+square@v.h:2", NULL, 5);
	made_count(&made, "idle@w.c:40", NULL, 0);
	made_count(&made, "main@a.c:20", "work@w.c:1+square@v.h:2", 2);
	made_count(&made, "main@a.c:21+step@s.h:7", "work@w.c:1", 3);
	made_count(&made, "main@a.c:30", "", 11);
	made_thread(&made, 200, 200, "child");
	made.profile->processes[1].parent = 0;
	made_count(&made, "work@w.c:1+square@v.h:2", NULL, 100);
	return made_end(&made);
}

TEST(calltree_counts, function_is_whose_code_it_is)
{
	struct profile *profile = counted_calls();
	struct counted counted = count(profile, &(struct filter){0});

	assert_int_equal(counted.counts->state, COUNTS_KNOWN);
	assert_int_equal(calls_of(&counted, "work"), 105);
	assert_int_equal(calls_of(&counted, "idle"), 0);
	assert_int_equal(calls_of(&counted, "square"), NOT_COUNTED);
	assert_int_equal(calls_of(&counted, "main"), NOT_COUNTED);
	counted_release(&counted);
	profile_free(profile);
}

TEST(calltree_counts, caller_is_who_wrote_the_call)
{
	struct profile *profile = counted_calls();
	struct counted counted = count(profile, &(struct filter){0});

	assert_int_equal(calls_between(&counted, "main", "work"), 2);
	assert_int_equal(calls_between(&counted, "step", "work"), 3);
	assert_int_equal(calls_between(&counted, "main", ""), 11);
	assert_int_equal(calls_between(&counted, "work", "main"), NOT_COUNTED);
	counted_release(&counted);
	profile_free(profile);
}

TEST(calltree_counts, lines_have_calls_and_definitions_entries)
{
	struct profile *profile = counted_calls();
	struct counted counted = count(profile, &(struct filter){0});

	assert_int_equal(line_of(&counted, "s.h", 7)->calls, 3);
	assert_int_equal(line_of(&counted, "a.c", 20)->calls, 2);
	assert_false(line_of(&counted, "a.c", 20)->has_entries);
	/* Both functions of w.c are defined in its line 1. */
	assert_int_equal(line_of(&counted, "w.c", 1)->entries, 105);
	assert_false(line_of(&counted, "w.c", 1)->has_calls);
	assert_null(line_of(&counted, "a.c", 21));
	counted_release(&counted);
	profile_free(profile);
}

TEST(calltree_counts, an_expansion_of_samples_has_none)
{
	struct profile *profile = counted_calls();
	struct expansion *expansion = expansion_new_of_samples(profile);
	struct counted counted = {.profile = profile, .expansion = expansion};

	assert_int_equal(selection_new(expansion, &(struct filter){0}, &counted.selection, NULL),
			 0);
	counted.counts = counts_new(counted.selection);
	assert_int_equal(counted.counts->state, COUNTS_NONE);
	label_of(&counted, "square"); /* it is in a stack */
	for (uint32_t i = 0; i < expansion->nr_labels; i++) {
		const struct function *function = label_function(expansion, i);

		if (function)
			assert_string_not_equal(profile_str(profile, function->name), "idle");
	}
	counted_release(&counted);
	profile_free(profile);
}

TEST(calltree_counts, process_filter_applies)
{
	struct profile *profile = counted_calls();
	struct counted counted =
		count(profile, &(struct filter){.processes = {(const char *const[]){"200"}, 1}});

	assert_int_equal(calls_of(&counted, "work"), 100);
	assert_int_equal(calls_of(&counted, "idle"), NOT_COUNTED);
	assert_int_equal(calls_between(&counted, "main", "work"), NOT_COUNTED);
	for (size_t i = 0; i < profile->probes.nr_counts; i++) {
		const struct profile_count *row = &profile->probes.counts[i];

		assert_int_equal(counts_have(counted.counts, row),
				 profile->processes[row->process].pid == 200);
	}
	counted_release(&counted);
	profile_free(profile);
}

TEST(calltree_counts, function_filter_leaves_the_functions_it_names)
{
	struct profile *profile = counted_calls();
	struct counted counted =
		count(profile, &(struct filter){.functions = {(const char *const[]){"^main$"}, 1}});

	assert_int_equal(calls_of(&counted, "work"), NOT_COUNTED);
	assert_int_equal(calls_between(&counted, "main", "work"), 2);
	assert_int_equal(calls_between(&counted, "step", "work"), NOT_COUNTED);
	counted_release(&counted);
	profile_free(profile);
}

TEST(calltree_counts, nothing_is_known_of_threads_and_times)
{
	const struct filter filters[] = {
		{.threads = {(const char *const[]){"prog"}, 1}},
		{.modules = {(const char *const[]){"prog"}, 1}},
		{.from_ns = 1},
		{.to_ns = 2000000},
	};
	struct profile *profile = counted_calls();

	for (size_t i = 0; i < 4; i++) {
		struct counted counted = count(profile, &filters[i]);

		assert_int_equal(counted.counts->state, COUNTS_FILTERED);
		assert_int_equal(calls_of(&counted, "work"), NOT_COUNTED);
		counted_release(&counted);
	}
	profile_free(profile);
}

/* 300 was forked by 100, 400 by 300; 300 then executed another program. */
TEST(calltree_counts, forked_processes_count_with_their_parent)
{
	static const struct {
		const char *processes;
		enum counts_state state;
	} cases[] = {{"100", COUNTS_FILTERED}, {"400", COUNTS_FILTERED}, {"^p", COUNTS_KNOWN}};
	struct made made = made_begin();
	struct profile_process executed = {.pid = 300, .parent = 1};
	struct profile *profile;
	uint64_t from_ns, to_ns;

	made_count(&made, "work@w.c:1", NULL, 7)->from_ns = 50;
	made_thread(&made, 300, 300, "p-child");
	made_thread(&made, 400, 400, "p-grandchild");
	made.profile->processes[1].parent = 0;
	made.profile->processes[2].parent = 1;
	executed.name = executed.command = profile_intern(made.profile, "other");
	profile_add_process(made.profile, &executed);
	profile = made_end(&made);
	for (size_t i = 0; i < 3; i++) {
		struct counted counted =
			count(profile, &(struct filter){.processes = {&cases[i].processes, 1}});
		uint32_t work = label_of(&counted, "work");

		assert_int_equal(counted.counts->state, cases[i].state);
		if (cases[i].state == COUNTS_KNOWN) {
			assert_true(counts_find_window(counted.counts, 2, work, &from_ns, &to_ns));
			assert_int_equal(from_ns, 50);
			assert_false(counts_find_window(counted.counts, 3, work, &from_ns, &to_ns));
		}
		counted_release(&counted);
	}
	profile_free(profile);
}

TEST(calltree_counts, none_without_probes)
{
	struct made made = made_begin();
	struct counted counted;
	struct profile *profile;

	made_sample(&made, "main", 1);
	profile = made_end(&made);
	counted = count(profile, &(struct filter){0});
	assert_int_equal(counted.counts->state, COUNTS_NONE);
	assert_int_equal(calls_of(&counted, "main"), NOT_COUNTED);
	counted_release(&counted);
	profile_free(profile);
}

/* Of what stands still, the file has an earlier end until the recording has its own. */
TEST(calltree_counts, those_of_a_process_are_read_at_a_time)
{
	static const uint64_t expected[2][2] = {{70, 30}, {70, 70}};

	for (int incomplete = 0; incomplete < 2; incomplete++) {
		struct made made = made_begin();
		struct counted counted;
		uint64_t from_ns, to_ns;

		made_count(&made, "busy@w.c:1", NULL, 7)->to_ns = 70;
		made_count(&made, "still@w.c:1", NULL, 7)->to_ns = 30;
		made_thread(&made, 200, 200, "child");
		made_count(&made, "still@w.c:1", NULL, 7)->to_ns = 90;
		made_end(&made)->meta.complete = !incomplete;
		counted = count(made.profile, &(struct filter){0});
		assert_true(counts_find_window(counted.counts, 0, label_of(&counted, "busy"),
					       &from_ns, &to_ns));
		assert_int_equal(to_ns, expected[incomplete][0]);
		assert_true(counts_find_window(counted.counts, 0, label_of(&counted, "still"),
					       &from_ns, &to_ns));
		assert_int_equal(to_ns, expected[incomplete][1]);
		counted_release(&counted);
		profile_free(made.profile);
	}
}
