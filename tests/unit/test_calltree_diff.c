// SPDX-License-Identifier: GPL-2.0-or-later
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "calltree/diff.h"
#include "calltree/diff_limits.h"
#include "calltree/diff_tree.h"
#include "calltree/weights.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"

/* One side: nr samples of 1 ms in each function. */
struct side {
	struct profile *profile;
	struct weighed_fixture weighed;
};

static struct side end_side(struct made *made)
{
	struct profile *profile = made_end(made);

	return (struct side){.profile = profile, .weighed = weighed_new(profile, NULL, METRIC_CPU)};
}

static struct side side_of(unsigned int parse, unsigned int eval, unsigned int print)
{
	struct made made = made_begin();

	for (unsigned int i = 0; i < parse; i++)
		made_sample(&made, "main;parse@a.c:1", 1);
	for (unsigned int i = 0; i < eval; i++)
		made_sample(&made, "main;eval", 1);
	for (unsigned int i = 0; i < print; i++)
		made_sample(&made, "main;libio.so!print", 1);
	made_at_once(made.profile);
	return end_side(&made);
}

/* A second in each of the stacks, executed from `exe`. */
static struct side side_with(const char *exe, const char *const *stacks)
{
	struct made made = made_begin();

	made.profile->processes[0].exe = profile_intern(made.profile, exe);
	for (; *stacks; stacks++)
		made_sample(&made, *stacks, 1000);
	return end_side(&made);
}

static void side_release(struct side *side)
{
	weighed_free(&side->weighed);
	profile_free(side->profile);
}

static struct diff *diff_of(const struct side *before, const struct side *after,
			    enum diff_mode mode, struct diff_rename *renames, size_t nr_renames)
{
	const struct diff_request request = {
		.old_runs = (const struct weights *const *)&before->weighed.weights,
		.new_runs = (const struct weights *const *)&after->weighed.weights,
		.nr_old = 1,
		.nr_new = 1,
		.mode = mode,
		.renames = renames,
		.nr_renames = nr_renames};

	return diff_new(&request);
}

static bool exceeds(const struct diff *diff, double percent)
{
	const struct diff_limit limit = {.metric = METRIC_CPU, .percent = percent};
	struct buf why = {0};
	bool does = diff_exceeds(diff, &limit, &why);

	assert_int_equal(does, why.nr_bytes > 0);
	buf_release(&why);
	return does;
}

/* "change ±half name" a row, the sure ones marked. */
static void expect_rows(const struct diff *diff, const struct side *old_side,
			const struct side *new_side, const char *expected)
{
	struct buf text = {0};

	for (size_t i = 0; i < diff->nr; i++) {
		const struct diff_row *row = &diff->rows[i];
		bool is_new = row->new_at.label != DIFF_NONE;

		buf_printf(&text, "%+.1f ±%.1f ", row->change, row->half);
		label_append_name(
			&text, is_new ? new_side->weighed.expansion : old_side->weighed.expansion,
			is_new ? row->new_at.label : row->old_at.label, NAME_FULL);
		buf_append_str(&text, diff_row_is_sure(row) ? " sure\n" : "\n");
	}
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
}

TEST(diff, amounts_in_percent_of_the_old_total)
{
	struct side before = side_of(500, 400, 100), after = side_of(510, 800, 0);
	struct diff *diff = diff_of(&before, &after, DIFF_AMOUNTS, NULL, 0);

	expect_rows(diff, &before, &after,
		    "+40.0 ±5.0 eval sure\n"
		    "-10.0 ±2.0 print sure\n"
		    "+1.0 ±5.0 parse\n"
		    "+0.0 ±0.3 main\n");
	assert_float_equal(diff_total_change(diff), 31, 0.001);
	diff_free(diff);
	side_release(&before);
	side_release(&after);
}

/* After a change of the profile. */
static void weigh_again(struct side *side)
{
	weighed_free(&side->weighed);
	side->weighed = weighed_new(side->profile, NULL, METRIC_CPU);
}

TEST(diff, rates_are_of_the_time_of_each_side)
{
	struct side before = side_of(100, 20, 0), after = side_of(400, 10, 50);
	struct side idle = side_of(0, 0, 0);
	struct diff *diff;

	before.profile->meta.duration_ns = UINT64_C(1000000000);
	after.profile->meta.duration_ns = UINT64_C(500000000);
	idle.profile->meta.duration_ns = UINT64_C(500000000);
	weigh_again(&before);
	weigh_again(&after);
	weigh_again(&idle);
	diff = diff_of(&before, &after, DIFF_RATES, NULL, 0);
	expect_rows(diff, &before, &after,
		    "+70.0 ±3.2 parse sure\n"
		    "+10.0 ±2.9 print sure\n"
		    "+0.0 ±0.5 main\n"
		    "+0.0 ±1.6 eval\n");
	assert_float_equal(diff_percent(diff, &diff->old_side, &diff->old_side.total), 12, 0.001);
	assert_float_equal(diff_percent(diff, &diff->new_side, &diff->new_side.total), 92, 0.001);
	assert_float_equal(diff_total_change(diff), 100.0 * (92 - 12) / 12, 0.001);
	diff_free(diff);
	diff = diff_of(&idle, &after, DIFF_RATES, NULL, 0);
	/* Nothing of a side is no reason not to compare it. */
	assert_float_equal(diff->rows[0].change, 80, 0.001);
	assert_true(diff_row_is_sure(&diff->rows[0]));
	assert_float_equal(diff_total_change(diff), 0, 0.001);
	diff_free(diff);
	side_release(&before);
	side_release(&after);
	side_release(&idle);
}

TEST(diff, shares_do_not_mind_the_length_of_a_look)
{
	struct side before = side_of(500, 400, 100), after = side_of(1000, 800, 200);
	struct diff *diff = diff_of(&before, &after, DIFF_SHARES, NULL, 0);

	for (size_t i = 0; i < diff->nr; i++) {
		assert_float_equal(diff->rows[i].change, 0, 0.001);
		assert_false(diff_row_is_sure(&diff->rows[i]));
	}
	assert_false(exceeds(diff, 0));
	diff_free(diff);
	side_release(&before);
	side_release(&after);
}

TEST(diff, limit_is_exceeded_only_surely)
{
	struct side before = side_of(500, 500, 0), after = side_of(500, 500, 60);
	struct side noisy = side_of(505, 490, 5), shifted = side_of(500, 440, 60);
	struct diff *grown = diff_of(&before, &after, DIFF_AMOUNTS, NULL, 0);
	struct diff *same = diff_of(&before, &noisy, DIFF_AMOUNTS, NULL, 0);
	struct diff *moved = diff_of(&before, &shifted, DIFF_AMOUNTS, NULL, 0);

	assert_true(exceeds(grown, 5)); /* the total by 6 % */
	assert_false(exceeds(grown, 7));
	assert_true(exceeds(moved, 4)); /* the total by nothing, print by 6 ± 1.5 */
	assert_false(exceeds(moved, 5));
	assert_false(exceeds(same, 0.2)); /* the total by nothing, the rest is noise */
	diff_free(grown);
	diff_free(same);
	diff_free(moved);
	side_release(&before);
	side_release(&after);
	side_release(&noisy);
	side_release(&shifted);
}

/* "old module!name = new module!name", "new: …" or "gone: …" a row, sorted. */
static void append_row(struct buf *out, const struct diff_row *row, const struct side *before,
		       const struct side *after)
{
	const struct side *sides[] = {before, after};
	const uint32_t labels[] = {row->old_at.label, row->new_at.label};
	bool both = row->old_at.label != DIFF_NONE && row->new_at.label != DIFF_NONE;

	if (!both)
		buf_append_str(out, row->old_at.label == DIFF_NONE ? "new: " : "gone: ");
	for (size_t i = 0; i < 2; i++) {
		if (labels[i] == DIFF_NONE)
			continue;
		buf_append_str(out, i && both ? " = " : "");
		buf_append_str(out, module_short_name(
					    label_module(sides[i]->weighed.expansion, labels[i])));
		buf_append_str(out, "!");
		label_append_name(out, sides[i]->weighed.expansion, labels[i], NAME_FULL);
	}
	buf_append_str(out, "\n");
}

static void expect_partners(const char *const *old_stacks, const char *const *new_stacks,
			    struct diff_rename *renames, size_t nr_renames, const char *expected)
{
	struct side before = side_with("/bin/prog-main", old_stacks);
	struct side after = side_with("/bin/prog-branch", new_stacks);
	struct diff *diff = diff_of(&before, &after, DIFF_SHARES, renames, nr_renames);
	struct buf text = {0};

	for (size_t i = 0; i < diff->nr; i++)
		append_row(&text, &diff->rows[i], &before, &after);
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
	diff_free(diff);
	side_release(&before);
	side_release(&after);
}

static const char *const *stacks(const char *first, const char *second)
{
	static const char *texts[4][3];
	static unsigned int next;
	const char **mine = texts[next++ % 4];

	mine[0] = first;
	mine[1] = second;
	mine[2] = NULL;
	return mine;
}

TEST(diff, main_programs_are_one_whatever_their_names)
{
	expect_partners(stacks("prog-main!work@w.c:3", NULL),
			stacks("prog-branch!work@w.c:9", NULL), NULL, 0,
			"prog-main!work = prog-branch!work\n");
	/* Their code without names too, by its address. */
	expect_partners(stacks("prog-main!?", NULL), stacks("prog-branch!?", NULL), NULL, 0,
			"prog-main![prog-main+0x3] = prog-branch![prog-branch+0x3]\n");
	/* Programs that are no main ones are not: they may be anything. */
	expect_partners(stacks("sort!work", NULL), stacks("grep!work", NULL), NULL, 0,
			"new: grep!work\ngone: sort!work\n");
}

TEST(diff, hashes_and_versions_do_not_tell_modules_apart)
{
	expect_partners(stacks("bench-0a1b2c3d!f", "libz.so.1.2.13!g"),
			stacks("bench-4e5f6a7b!f", "libz.so.1.3!g"), NULL, 0,
			"bench-0a1b2c3d!f = bench-4e5f6a7b!f\n"
			"libz.so.1.2.13!g = libz.so.1.3!g\n");
	/* Where two could be meant, none is. */
	expect_partners(stacks("x-0a1b2c3d!f", "x-4e5f6a7b!f"), stacks("x-99999999!f", NULL), NULL,
			0, "new: x-99999999!f\ngone: x-0a1b2c3d!f\ngone: x-4e5f6a7b!f\n");
	expect_partners(stacks("p!a::f::h0123456789abcdef", NULL),
			stacks("p!a::f::hfedcba9876543210", NULL), NULL, 0,
			"p!a::f::h0123456789abcdef = p!a::f::hfedcba9876543210\n");
}

static struct side side_of_modules(const char *version, unsigned int nr)
{
	struct made made = made_begin();

	for (unsigned int i = 0; i < nr; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "m%ux%s!f", i, version);
		made_sample(&made, stack, 1);
	}
	return end_side(&made);
}

/* Modules without number: none is compared with all others. */
TEST(diff, modules_are_matched_by_their_sorted_stems)
{
	const unsigned int nr = 10000;
	struct side before = side_of_modules("-1.2", nr), after = side_of_modules("-3", nr);
	struct diff *diff;

	alarm(30);
	diff = diff_of(&before, &after, DIFF_SHARES, NULL, 0);
	alarm(0);
	assert_int_equal(diff->nr, nr);
	diff_free(diff);
	side_release(&before);
	side_release(&after);
	before = side_of_modules("", nr);
	after = side_of_modules("y", nr);
	alarm(30);
	diff = diff_of(&before, &after, DIFF_SHARES, NULL, 0);
	alarm(0);
	assert_int_equal(diff->nr, 2 * nr);
	diff_free(diff);
	side_release(&before);
	side_release(&after);
}

/* Each process executes a file of its own, in which it is a millisecond; the first one a second. */
static struct side side_of_programs(const char *first, unsigned int nr)
{
	struct made made = made_begin();
	char text[64];

	snprintf(text, sizeof(text), "%s!f", first);
	made_sample(&made, text, 1000);
	snprintf(text, sizeof(text), "/bin/%s", first);
	made.profile->processes[0].exe = profile_intern(made.profile, text);
	for (uint32_t i = 1; i <= nr; i++) {
		struct profile_process process = {.pid = 100 + (int)i, .parent = PROCESS_NONE};
		struct profile_thread thread = {.process = i, .tid = process.pid};

		snprintf(text, sizeof(text), "/bin/m%ux", i);
		process.exe = profile_intern(made.profile, text);
		profile_add_process(made.profile, &process);
		made.thread = profile_add_thread(made.profile, &thread);
		snprintf(text, sizeof(text), "m%ux!f", i);
		made_sample(&made, text, 1);
	}
	return end_side(&made);
}

TEST(diff, main_program_of_many_is_found_by_sorted_paths)
{
	const unsigned int nr = 60000;
	struct side before = side_of_programs("one", nr), after = side_of_programs("other", nr);
	struct diff *diff;

	alarm(30);
	diff = diff_of(&before, &after, DIFF_SHARES, NULL, 0);
	alarm(0);
	assert_int_equal(diff->nr, nr + 1);
	diff_free(diff);
	side_release(&before);
	side_release(&after);
}

TEST(diff, functions_of_one_name_go_by_their_source)
{
	expect_partners(stacks("p!f@/main/a/x.c:1", "p!f@/main/b/x.c:1"),
			stacks("p!f@/branch/b/x.c:1", "p!f@/branch/a/x.c:1"), NULL, 0,
			"p!f = p!f\np!f = p!f\n");
	/* Moved to another file, and to another module that was not there. */
	expect_partners(stacks("p!f@/src/x.c:1", NULL), stacks("p!f@/src/y.c:1", NULL), NULL, 0,
			"p!f = p!f\n");
	expect_partners(stacks("p!f@/src/x.c:1", "p!g"), stacks("libf.so!f@/src/x.c:1", "p!g"),
			NULL, 0, "p!f = libf.so!f\np!g = p!g\n");
	/* Two modules that are there in both each have their own. */
	expect_partners(stacks("p!f@/src/x.c:1", "q!g"), stacks("q!f@/src/x.c:1", "p!g"), NULL, 0,
			"new: q!f\nnew: p!g\ngone: p!f\ngone: q!g\n");
}

TEST(diff, names_can_be_mapped)
{
	struct diff_rename renames[] = {{"a", "b", false}, {"f", "g", false}, {"z", "y", false}};

	expect_partners(stacks("a!f", NULL), stacks("b!g", NULL), renames, 3, "a!f = b!g\n");
	assert_true(renames[0].used && renames[1].used && !renames[2].used);
}

TEST(diff, a_profile_and_its_copy_have_no_change)
{
	struct side before = side_of(5, 4, 1), same = side_of(5, 4, 1), other = side_of(5, 5, 1);
	struct diff *none = diff_of(&before, &same, DIFF_AMOUNTS, NULL, 0);
	struct diff *some = diff_of(&before, &other, DIFF_AMOUNTS, NULL, 0);

	assert_true(diff_is_none(none));
	assert_false(diff_is_none(some));
	diff_free(none);
	diff_free(some);
	side_release(&before);
	side_release(&same);
	side_release(&other);
}

/* So many samples of 1 ms in `parse`, which is called so often. */
static struct side counted_side(unsigned int samples, uint64_t parse, uint64_t print)
{
	struct made made = made_begin();

	for (unsigned int i = 0; i < samples; i++)
		made_sample(&made, "main;parse@a.c:1", 1);
	for (unsigned int i = 0; i < 1000; i++)
		made_sample(&made, "main;eval", 1);
	made_at_once(made.profile);
	made_count(&made, "parse@a.c:1", NULL, parse);
	made_count(&made, "libio.so!print", NULL, print);
	return end_side(&made);
}

/* "old new change ±half" a row, sorted, and whether it has changed. */
static void expect_calls(const struct diff *diff, const char *expected)
{
	cleanup_free uint32_t *rows = NULL;
	size_t nr = diff_counted_rows(diff, &rows);
	struct buf text = {0};
	double percent, half;

	for (size_t i = 0; i < nr; i++) {
		const struct diff_row *row = &diff->rows[rows[i]];

		buf_printf(&text, "%lu %lu", (unsigned long)row->old_calls.calls,
			   (unsigned long)row->new_calls.calls);
		if (diff_per_call_change(diff, row, &percent, &half))
			buf_printf(&text, " %+.1f ±%.1f", percent, half);
		buf_append_str(&text, diff_calls_changed(diff, row) ? " changed\n" : "\n");
	}
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
}

static void expect_change(struct side before, struct side after, const char *expected)
{
	struct diff *diff = diff_of(&before, &after, DIFF_AMOUNTS, NULL, 0);

	expect_calls(diff, expected);
	diff_free(diff);
	side_release(&before);
	side_release(&after);
}

/* `eval` has 1000 samples in either, so that the share of `parse` is no fact. */
TEST(diff, calls_and_time_per_call)
{
	/* Twice as often, in the same time each. */
	expect_change(counted_side(500, 1000, 7), counted_side(1000, 2000, 7),
		      "1000 2000 +0.0 ±8.4 changed\n"
		      "7 7\n");
	/* As often, in twice the time. */
	expect_change(counted_side(500, 1000, 7), counted_side(1000, 1000, 7),
		      "1000 1000 +100.0 ±16.8 changed\n"
		      "7 7\n");
	/* As often, in a time that differs by chance; and print was never called before. */
	expect_change(counted_side(500, 1000, 0), counted_side(510, 1000, 3),
		      "0 3 changed\n"
		      "1000 1000 +2.0 ±10.2\n");
}

TEST(diff, without_samples_counts_alone)
{
	struct made before = made_begin(), after = made_begin();

	made_count(&before, "parse", NULL, 10);
	made_count(&after, "parse", NULL, 11);
	expect_change(end_side(&before), end_side(&after), "10 11 changed\n");
}

/* Of several runs on either side. */
struct runs {
	struct side sides[4];
	const struct weights *weights[4];
	size_t nr;
};

static void add_run(struct runs *runs, struct side side)
{
	runs->sides[runs->nr] = side;
	runs->weights[runs->nr++] = side.weighed.weights;
}

static struct diff *diff_of_runs(const struct runs *before, const struct runs *after,
				 enum diff_mode mode, enum dimension by)
{
	const struct diff_request request = {.old_runs = before->weights,
					     .new_runs = after->weights,
					     .nr_old = before->nr,
					     .nr_new = after->nr,
					     .mode = mode,
					     .by = by};

	return diff_new(&request);
}

static void runs_release(struct runs *runs)
{
	for (size_t i = 0; i < runs->nr; i++)
		side_release(&runs->sides[i]);
}

static const struct diff_row *find_row(const struct diff *diff, const char *wanted)
{
	struct buf name = {0};
	const struct diff_row *found = NULL;

	for (size_t i = 0; i < diff->nr; i++) {
		const struct diff_at *at = diff_known_at(&diff->rows[i]);
		const struct flat *flat = diff->flats[at->run];

		buf_clear(&name);
		flat_append_name(&name, flat, &flat->rows[at->row], NAME_FULL);
		if (strcmp(buf_str(&name), wanted) == 0) {
			assert_null(found);
			found = &diff->rows[i];
		}
	}
	buf_release(&name);
	assert_non_null(found);
	return found;
}

TEST(diff, runs_have_the_interval_of_their_spread)
{
	struct runs before = {0}, after = {0}, one = {0};
	const struct diff_row *row;
	struct diff *diff;

	/* Of 1000 ms each: 40, 50 and 60 % before, 50, 60 and 70 % after. */
	add_run(&before, side_of(400, 600, 0));
	add_run(&before, side_of(500, 500, 0));
	add_run(&before, side_of(600, 400, 0));
	add_run(&after, side_of(500, 500, 0));
	add_run(&after, side_of(600, 400, 0));
	add_run(&after, side_of(700, 300, 0));
	add_run(&one, side_of(600, 400, 0));
	diff = diff_of_runs(&before, &after, DIFF_AMOUNTS, BY_FUNCTION);
	row = find_row(diff, "parse");
	/*
	 * t of four degrees of freedom and one in 40, as there are two rows, is 3.495; the error 10
	 * * sqrt(2 / 3); samples say 2.5.
	 */
	assert_float_equal(row->change, 10, 0.001);
	assert_float_equal(row->half, 28.540, 0.01);
	assert_false(diff_row_is_sure(row));
	assert_float_equal(diff_total_change(diff), 0, 0.001);
	assert_float_equal(diff_total_half(diff), 0, 0.001);
	assert_int_equal(diff_mean(&diff->old_side, &row->old_self) / 1000000, 500);
	assert_false(exceeds(diff, 0));
	diff_free(diff);
	/*
	 * A single run may be any of those that spread so: 10 * sqrt(1 + 1 / 3), of two degrees,
	 * for which that t is 6.205.
	 */
	diff = diff_of_runs(&before, &one, DIFF_SHARES, BY_FUNCTION);
	row = find_row(diff, "parse");
	assert_float_equal(row->change, 10, 0.001);
	assert_float_equal(row->half, 71.653, 0.01);
	diff_free(diff);
	runs_release(&before);
	runs_release(&after);
	runs_release(&one);
}

TEST(diff, runs_that_agree_are_no_surer_than_samples)
{
	struct runs before = {0}, after = {0};
	const struct diff_row *row;
	struct diff *diff;

	for (int i = 0; i < 2; i++) {
		add_run(&before, side_of(50, 50, 0));
		add_run(&after, side_of(50, 45, 5));
	}
	diff = diff_of_runs(&before, &after, DIFF_AMOUNTS, BY_FUNCTION);
	row = find_row(diff, "eval");
	assert_float_equal(row->change, -5, 0.001);
	/* 95 of 200, and 100 of 200: 9.7, and of one row of three that is tested 1.22 times. */
	assert_true(row->half > 11 && row->half < 12);
	row = find_row(diff, "print");
	assert_int_equal(row->old_at.row, DIFF_NONE);
	assert_int_equal(row->new_self.samples, 10);
	diff_free(diff);
	runs_release(&before);
	runs_release(&after);
}

TEST(diff, other_rows_are_the_same_by_name)
{
	struct runs before = {0}, after = {0};
	struct made made = made_begin();
	const struct diff_row *row;
	struct diff *diff;

	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "main@m.c:1;libz.so.1!f@/old/z.c:5", 1000);
	made_thread(&made, 100, 102, "worker");
	made_sample(&made, "main@m.c:1;libz.so.1!f@/old/z.c:6", 2000);
	add_run(&before, end_side(&made));
	made = made_begin();
	made_thread(&made, 100, 900, "worker");
	made_sample(&made, "main@m.c:1;libz.so.2!f@/new/z.c:5", 4000);
	made_thread(&made, 100, 901, "writer");
	made_sample(&made, "main@m.c:1;libz.so.2!f@/new/z.c:7", 8000);
	add_run(&after, end_side(&made));
	diff = diff_of_runs(&before, &after, DIFF_AMOUNTS, BY_THREAD);
	row = find_row(diff, "worker");
	assert_int_equal(row->old_self.weight / 1000000, 3000);
	assert_int_equal(row->new_self.weight / 1000000, 4000);
	assert_int_equal(find_row(diff, "writer")->old_at.row, DIFF_NONE);
	diff_free(diff);
	diff = diff_of_runs(&before, &after, DIFF_AMOUNTS, BY_MODULE);
	row = find_row(diff, "/bin/libz.so.2");
	assert_int_equal(row->old_self.weight / 1000000, 3000);
	assert_int_equal(row->new_self.weight / 1000000, 12000);
	diff_free(diff);
	diff = diff_of_runs(&before, &after, DIFF_AMOUNTS, BY_FILE);
	row = find_row(diff, "/new/z.c");
	assert_int_equal(row->old_self.weight / 1000000, 3000);
	diff_free(diff);
	diff = diff_of_runs(&before, &after, DIFF_AMOUNTS, BY_LINE);
	assert_int_equal(diff->nr, 4); /* main, and lines 5, 6 and 7 */
	row = &diff->rows[0];
	assert_int_equal(row->new_self.weight / 1000000, 8000);
	assert_int_equal(row->old_at.row, DIFF_NONE);
	row = &diff->rows[1];
	assert_int_equal(row->old_self.weight / 1000000, 1000);
	assert_int_equal(row->new_self.weight / 1000000, 4000);
	diff_free(diff);
	runs_release(&before);
	runs_release(&after);
}

/* "change old new name" a node, indented by its depth; in ms. */
static void append_nodes(struct buf *out, const struct diff_tree *tree, uint32_t parent, int depth)
{
	for (uint32_t at = tree->nodes[parent].first_child; at; at = tree->nodes[at].next_sibling) {
		const struct diff_node *node = &tree->nodes[at];
		const struct diff_at *known = diff_node_known_at(node);

		buf_printf(out, "%*s%+.0f %lu %lu ", depth, "", node->change,
			   (unsigned long)(node->old_total.weight / 1000000),
			   (unsigned long)(node->new_total.weight / 1000000));
		label_append_name(out, flat_expansion(tree->diff->flats[known->run]), known->label,
				  NAME_FULL);
		buf_append_str(out, node->leads ? " leads\n" : "\n");
		append_nodes(out, tree, at, depth + 1);
	}
}

TEST(diff, trees_are_one_by_what_is_the_same)
{
	struct side before, after;
	struct made made = made_begin();
	struct diff_tree *tree;
	struct buf text = {0};
	struct diff *diff;

	for (int i = 0; i < 1000; i++) {
		made_sample(&made, "main;parse@/old/a.c:1;lex", 1);
		made_sample(&made, "main;eval", 1);
	}
	made_sample(&made, "lex", 10)->end = STACK_END_NO_CFI;
	before = end_side(&made);
	made = made_begin();
	for (int i = 0; i < 1000; i++) {
		made_sample(&made, "main;parse@/new/a.c:9;lex", 2);
		made_sample(&made, "main;eval", 1);
		made_sample(&made, "main;eval;print", 1);
	}
	made_sample(&made, "lex", 10)->end = STACK_END_NO_CFI;
	after = end_side(&made);
	diff = diff_of(&before, &after, DIFF_AMOUNTS, NULL, 0);
	tree = diff_tree_new(diff);
	append_nodes(&text, tree, DIFF_TREE_ROOT, 0);
	assert_string_equal(buf_str(&text), "+100 2000 4000 main leads\n"
					    " +50 1000 2000 parse leads\n"
					    "  +50 1000 2000 lex leads\n"
					    " +50 1000 2000 eval leads\n"
					    "  +50 0 1000 print leads\n"
					    "+0 10 10 [truncated: no unwind information]\n"
					    " +0 10 10 lex\n");
	buf_release(&text);
	diff_tree_free(tree);
	diff_free(diff);
	side_release(&before);
	side_release(&after);
}
