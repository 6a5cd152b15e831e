// SPDX-License-Identifier: GPL-2.0-or-later
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "calltree/flat.h"
#include "calltree/per_call.h"
#include "calltree/phases.h"
#include "calltree/weights.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"

/* Everything between a profile and a table. */
struct bench {
	struct weighed_fixture weighed;
	struct flat *flat;
	struct buf text;
};

static struct bench bench_begin(const struct profile *profile, enum metric metric,
				enum dimension dimension)
{
	struct bench bench = {.weighed = weighed_new(profile, NULL, metric)};

	bench.flat = flat_new(bench.weighed.weights, dimension);
	return bench;
}

static void bench_end(struct bench *bench)
{
	flat_free(bench->flat);
	weighed_free(&bench->weighed);
	buf_release(&bench->text);
}

/* "self total samples name [location]\n" a row; weights in ms. */
static const char *table_text(struct bench *bench)
{
	uint64_t unit = bench->weighed.weights->metric == METRIC_SAMPLES ? 1 : 1000000;

	buf_clear(&bench->text);
	for (size_t i = 0; i < bench->flat->nr; i++) {
		const struct flat_row *row = &bench->flat->rows[i];

		buf_printf(&bench->text, "%lu %lu %lu ", (unsigned long)(row->self.weight / unit),
			   (unsigned long)(row->total.weight / unit),
			   (unsigned long)row->total.samples);
		flat_append_name(&bench->text, bench->flat, row, NAME_SHORT);
		if (bench->flat->dimension == BY_LINE) {
			buf_append_byte(&bench->text, ' ');
			flat_append_location(&bench->text, bench->flat, row);
		}
		buf_append_str(&bench->text, row->inlined ? " inlined\n" : "\n");
	}
	return buf_str(&bench->text);
}

static void expect_table(struct profile *profile, enum metric metric, enum dimension dimension,
			 const char *expected)
{
	struct bench bench = bench_begin(profile, metric, dimension);

	assert_string_equal(table_text(&bench), expected);
	bench_end(&bench);
}

TEST(flat, self_and_total_of_functions)
{
	struct made made = made_begin();

	made_sample(&made, "main;parse", 1);
	made_sample(&made, "main;parse;libc!malloc", 2);
	made_sample(&made, "main;eval", 4);
	made_sample(&made, "main", 8);
	expect_table(made_end(&made), METRIC_CPU, BY_FUNCTION,
		     "8 15 4 main\n"
		     "4 4 1 eval\n"
		     "2 2 1 malloc\n"
		     "1 3 2 parse\n");
	profile_free(made.profile);
}

TEST(flat, functions_of_scripts_have_what_they_called)
{
	struct made made = made_begin();

	made_sample(&made, "main;app.py!run@app.py:9", 1);
	made_sample(&made, "main;app.py!run@app.py:9;sort", 2);
	made_sample(&made, "main;app.py!run@app.py:8;sort;app.py!key@app.py:3;compare", 4);
	made_sample(&made, "main;app.py!run@app.py:8;sort;app.py!run@app.py:9;?", 8);
	made_sample(&made, "main;collect", 16);
	made_sample(&made, "main;app.py!run@app.py:9;??", 32);
	made_sample(&made, "worker", 64);
	made_end(&made);
	expect_table(made.profile, METRIC_CPU, BY_SCRIPT,
		     "80 80 2 [native]\n"
		     "43 47 5 run\n"
		     "4 4 1 key\n");
	profile_free(made.profile);
}

TEST(flat, functions_of_scripts_keep_what_has_no_stack)
{
	struct made made = made_begin();
	struct sample unknown = {
		.kind = SAMPLE_UNATTRIBUTED, .cpu_ns = 5000000, .thread = made.thread, .nr = 1};

	made_sample(&made, "main;app.py!run@app.py:9;sort", 2);
	made_sample(&made, "", 1);
	profile_add_sample(made.profile, &unknown);
	made_end(&made);
	expect_table(made.profile, METRIC_CPU, BY_SCRIPT,
		     "5 5 1 [unattributed]\n"
		     "2 2 1 run\n"
		     "1 1 1 [no stack]\n");
	profile_free(made.profile);
}

TEST(flat, recursion_counts_once)
{
	struct made made = made_begin();

	made_sample(&made, "main;fib@a.c:3;fib@a.c:3;fib@a.c:2", 1);
	made_sample(&made, "main;fib@a.c:3;add;fib@a.c:2", 2);
	made_sample(&made, "main;fib@a.c:3", 4);
	made_sample(&made, "main;add;fib@a.c:2;add", 8);
	made_end(&made);
	expect_table(made.profile, METRIC_CPU, BY_FUNCTION,
		     "8 10 2 add\n"
		     "7 15 4 fib\n"
		     "0 15 4 main\n");
	/* A line counts once for each sample it is in, too. */
	expect_table(made.profile, METRIC_CPU, BY_SOURCE_LINE,
		     "4 7 3 a.c:3\n"
		     "3 11 3 a.c:2\n");
	profile_free(made.profile);
}

TEST(flat, inlined_code_has_rows_of_its_own)
{
	struct made made = made_begin();

	made_sample(&made, "main@a.c:5+square@v.h:3", 1);
	made_sample(&made, "main@a.c:6+square@v.h:3+mul@v.h:9", 2);
	made_sample(&made, "main@a.c:7;mul@v.h:9", 4);
	made_end(&made);
	expect_table(made.profile, METRIC_CPU, BY_FUNCTION,
		     "6 6 2 mul\n"
		     "1 3 2 square inlined\n"
		     "0 7 3 main\n");
	expect_table(made.profile, METRIC_CPU, BY_LINE,
		     "6 6 2 mul v.h:9\n"
		     "1 3 2 square v.h:3 inlined\n"
		     "0 4 1 main a.c:7\n"
		     "0 2 1 main a.c:6\n"
		     "0 1 1 main a.c:5\n");
	expect_table(made.profile, METRIC_CPU, BY_FILE,
		     "7 7 3 v.h\n"
		     "0 7 3 a.c\n");
	profile_free(made.profile);
}

TEST(flat, what_is_not_known_is_shown)
{
	struct made made = made_begin();

	made_sample(&made, "main;..42;eval@e.c:1", 1);
	made_sample(&made, "eval@e.c:1", 2)->end = STACK_END_NO_CFI;
	made_sample(&made, "??", 4)->end = STACK_END_NO_MAPPING;
	made_sample(&made, "", 8)->kind = SAMPLE_UNATTRIBUTED;
	made.profile->samples[3].nr = 0;
	made_sample(&made, "", 16)->end = STACK_END_NOT_TAKEN;
	made_end(&made);
	/* Marks of what is left out are no rows; the rest adds up to the total of 31 ms. */
	expect_table(made.profile, METRIC_CPU, BY_FUNCTION,
		     "16 16 1 [no stack]\n"
		     "8 8 0 [unattributed]\n"
		     "4 4 1 [unknown]\n"
		     "3 3 2 eval\n"
		     "0 1 1 main\n");
	expect_table(made.profile, METRIC_CPU, BY_FILE,
		     "16 16 1 [no stack]\n"
		     "8 8 0 [unattributed]\n"
		     "4 4 1 [unknown]\n"
		     "3 3 2 e.c\n"
		     "0 1 1 /bin/prog\n");
	profile_free(made.profile);
}

TEST(flat, modules)
{
	struct made made = made_begin();

	made_sample(&made, "main;libc!qsort;compare", 1);
	made_sample(&made, "main;libc!qsort", 2);
	expect_table(made_end(&made), METRIC_CPU, BY_MODULE,
		     "2 3 2 /bin/libc\n"
		     "1 3 2 /bin/prog\n");
	profile_free(made.profile);
}

static struct profile *threads_that_wait(void)
{
	struct made made = made_begin();
	struct sample *sample;

	made_sample(&made, "main", 3)->runq_ns = 1000000;
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "start", 5);
	sample = made_sample(&made, "start;libc!read", 0);
	sample->kind = SAMPLE_BLOCKED;
	sample->blocked_ns = 90000000;
	sample->syscall_nr = 0;
	sample = made_sample(&made, "", 1);
	sample->kind = SAMPLE_UNATTRIBUTED;
	sample->nr = 0;
	made.profile->meta.arch = profile_intern(made.profile, "x86_64");
	return made_end(&made);
}

TEST(flat, threads_states_and_system_calls)
{
	struct profile *profile = threads_that_wait();

	expect_table(profile, METRIC_CPU, BY_THREAD, "6 6 1 worker\n3 3 1 prog\n");
	expect_table(profile, METRIC_WALL, BY_THREAD, "96 96 2 worker\n4 4 1 prog\n");
	expect_table(profile, METRIC_WALL, BY_PROCESS, "100 100 3 prog\n");
	expect_table(profile, METRIC_WALL, BY_STATE,
		     "90 90 1 blocked\n"
		     "8 8 2 running\n"
		     "1 1 1 waiting for a CPU\n"
		     "1 1 0 [unattributed]\n");
	/* Those behind have CPU time; files of before tell nothing of where it was. */
	expect_table(profile, METRIC_BLOCKED, BY_SYSCALL,
		     "90 90 1 read\n"
		     "0 0 0 [running, system call unknown]\n"
		     "0 0 0 [unattributed]\n");
	profile->meta.knows_calls = true;
	profile->samples[1].syscall_nr = 1;
	expect_table(profile, METRIC_CPU, BY_SYSCALL,
		     "5 5 1 write\n"
		     "3 3 1 [no system call]\n"
		     "1 1 0 [unattributed]\n");
	expect_table(profile, METRIC_SAMPLES, BY_STATE, "2 2 2 running\n1 1 1 blocked\n");
	profile_free(profile);
}

TEST(flat, sort_keys)
{
	struct made made = made_begin();
	struct bench bench;
	struct err err = ERR_INIT;

	made_sample(&made, "main;a", 4);
	made_sample(&made, "main;b", 2);
	made_sample(&made, "main;b", 2);
	bench = bench_begin(made_end(&made), METRIC_CPU, BY_FUNCTION);
	/* Equal rows stand in the order of their names. */
	assert_string_equal(table_text(&bench), "4 4 1 a\n4 4 2 b\n0 8 3 main\n");
	assert_int_equal(flat_sort(bench.flat, "total", NULL), 0);
	assert_string_equal(table_text(&bench), "0 8 3 main\n4 4 1 a\n4 4 2 b\n");
	assert_int_equal(flat_sort(bench.flat, "self,samples", NULL), 0);
	assert_string_equal(table_text(&bench), "4 4 2 b\n4 4 1 a\n0 8 3 main\n");
	assert_int_equal(flat_sort(bench.flat, "name", NULL), 0);
	assert_string_equal(table_text(&bench), "4 4 1 a\n4 4 2 b\n0 8 3 main\n");
	/* However often a key is given, those behind it count. */
	assert_int_equal(flat_sort(bench.flat, "self,self,self,self,self,self,self,samples", NULL),
			 0);
	assert_string_equal(table_text(&bench), "4 4 2 b\n4 4 1 a\n0 8 3 main\n");
	assert_int_equal(flat_sort(bench.flat, "self,colour", &err), ERR_INVALID);
	assert_non_null(strstr(err.what, "'colour'"));
	assert_string_equal(
		err.hint,
		"the keys are self, total, samples, calls, per-call, name, function, line, module");
	bench_end(&bench);
	profile_free(made.profile);
}

TEST(flat, deep_recursion_needs_no_deep_stack)
{
	struct made made = made_begin();
	struct stack_id stack = STACK_EMPTY;
	char name[] = "dive@d.c:1";
	struct frame_id frame = made_frame(made.profile, name);
	struct bench bench;

	for (int i = 0; i < 200000; i++)
		stack = stack_trie_intern(made.profile->stacks, stack, frame);
	made_sample(&made, "", 7)->stack = stack;
	bench = bench_begin(made_end(&made), METRIC_CPU, BY_FUNCTION);
	assert_string_equal(table_text(&bench), "7 7 1 dive\n");
	bench_end(&bench);
	profile_free(made.profile);
}

/* "calls per_call name\n" a row, the time per call in us; "-" for what is not known. */
static const char *calls_text(struct bench *bench)
{
	buf_clear(&bench->text);
	for (size_t i = 0; i < bench->flat->nr; i++) {
		const struct flat_row *row = &bench->flat->rows[i];
		struct per_call per_call;

		if (row->counted)
			buf_printf(&bench->text, "%lu ", (unsigned long)row->calls);
		else
			buf_append_str(&bench->text, "- ");
		if (flat_row_per_call(bench->flat, row, &per_call))
			buf_printf(&bench->text, "%.2f ", per_call.ns / 1000);
		else
			buf_append_str(&bench->text, "- ");
		flat_append_name(&bench->text, bench->flat, row, NAME_SHORT);
		buf_append_str(&bench->text, row->inlined ? " inlined\n" : "\n");
	}
	return buf_str(&bench->text);
}

static void expect_calls(const struct profile *profile, const char *keys, const char *expected)
{
	struct bench bench = bench_begin(profile, METRIC_CPU, BY_FUNCTION);

	assert_int_equal(flat_sort(bench.flat, keys, NULL), 0);
	assert_string_equal(calls_text(&bench), expected);
	bench_end(&bench);
}

/*
 * `square` has 10 ms in copies inlined into main, and 40 ms where it was called, half of it in
 * a recursive call; `idle` and `quick` have no samples.
 */
static struct profile *counted_run(void)
{
	struct made made = made_begin();

	made_sample(&made, "main@a.c:5+square@a.c:2", 10);
	made_sample(&made, "main@a.c:6;square@a.c:2", 20);
	made_sample(&made, "main@a.c:6;square@a.c:3;square@a.c:2", 15);
	made_sample(&made, "main@a.c:6;square@a.c:3;leaf@b.c:2", 5);
	made_count(&made, "square@a.c:1", NULL, 1000);
	made_count(&made, "idle@a.c:1", NULL, 0);
	made_count(&made, "quick@a.c:1", NULL, 2000000);
	made_count(&made, "leaf@b.c:1", NULL, 4);
	return made_end(&made);
}

TEST(flat, per_call_leaves_out_inlined_copies)
{
	struct profile *profile = counted_run();

	expect_calls(profile, "self",
		     "1000 40.00 square\n"
		     "4 1250.00 leaf\n"
		     "- - main\n"
		     "2000000 0.00 quick\n"
		     "0 - idle\n");
	profile_free(profile);
}

TEST(flat, sorts_by_calls_and_per_call)
{
	struct profile *profile = counted_run();

	expect_calls(profile, "calls",
		     "2000000 0.00 quick\n"
		     "1000 40.00 square\n"
		     "4 1250.00 leaf\n"
		     "0 - idle\n"
		     "- - main\n");
	expect_calls(profile, "per-call",
		     "4 1250.00 leaf\n"
		     "1000 40.00 square\n"
		     "2000000 0.00 quick\n"
		     "- - main\n"
		     "0 - idle\n");
	profile_free(profile);
}

/* The interval of a time of 40 ms of 50, as that of a share, divided by 1000 calls. */
TEST(flat, per_call_has_the_interval_of_its_time)
{
	struct profile *profile = counted_run();
	struct bench bench = bench_begin(profile, METRIC_CPU, BY_FUNCTION);
	const struct flat_row *row = &bench.flat->rows[0];
	struct per_call per_call;
	double percent;

	assert_int_equal(row->calls, 1000);
	assert_true(flat_row_per_call(bench.flat, row, &per_call));
	percent = tally_interval(&row->called, &bench.weighed.weights->total);
	assert_int_equal(per_call.ci_ns, percent / 100 * 50e6 / 1000);
	assert_true(per_call.ci_ns > 5000);
	bench_end(&bench);
	profile_free(profile);
}

/* Counted from 15 ms on: of the sample from 10 to 30 ms three quarters. */
TEST(flat, per_call_leaves_out_time_before_the_counts)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main;work", 10);
	made_sample(&made, "main;work", 20);
	made_sample(&made, "main;work", 5);
	made_count(&made, "work", NULL, 10)->from_ns = 15000000;
	profile = made_end(&made);
	expect_calls(profile, "calls", "10 2000.00 work\n- - main\n");
	profile_free(profile);
}

/* 200 was forked by 100 and counts with it; 300 runs the same code uncounted. */
TEST(flat, per_call_leaves_out_processes_that_were_not_counted)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main;work", 10);
	made_count(&made, "work", NULL, 10);
	made_thread(&made, 200, 200, "child");
	made.profile->processes[1].parent = 0;
	made_sample(&made, "main;work", 20);
	made_thread(&made, 300, 300, "other");
	made_sample(&made, "main;work", 40);
	profile = made_end(&made);
	expect_calls(profile, "calls", "10 3000.00 work\n- - main\n");
	profile_free(profile);
}

/* And in the second process `rare` alone is counted. */
TEST(flat, per_call_leaves_out_functions_not_counted_in_a_process)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main;work", 10);
	made_count(&made, "work", NULL, 10);
	made_thread(&made, 200, 200, "child");
	made_sample(&made, "main;work;rare", 20);
	made_count(&made, "rare", NULL, 2);
	profile = made_end(&made);
	expect_calls(profile, "calls", "10 1000.00 work\n2 10000.00 rare\n- - main\n");
	profile_free(profile);
}

TEST(flat, cannot_sort_by_counts_that_are_not_there)
{
	struct made made = made_begin();
	struct profile *profile;
	struct err err = ERR_INIT;
	struct bench bench;

	made_sample(&made, "main", 10);
	profile = made_end(&made);
	bench = bench_begin(profile, METRIC_CPU, BY_FUNCTION);
	assert_int_equal(flat_sort(bench.flat, "calls", &err), ERR_NOT_FOUND);
	assert_string_equal(err.what, "no calls were counted in this recording");
	bench_end(&bench);
	profile_free(profile);
}

/* "first, second self total\n" a row; weights in ms. */
static void expect_pairs(const struct profile *profile, enum metric metric, const char *by,
			 const char *expected)
{
	struct bench bench = bench_begin(profile, metric, BY_FUNCTION);
	struct flat_keys keys;
	struct flat *flat;

	assert_int_equal(flat_keys_parse(by, &keys, NULL), 0);
	flat = flat_new_by(bench.weighed.weights, &keys);
	for (size_t i = 0; i < flat->nr; i++) {
		const struct flat_row *row = &flat->rows[i];

		flat_append_key(&bench.text, flat, &flat->groups->rows[row->group], keys.first,
				NAME_SHORT);
		buf_append_str(&bench.text, ", ");
		flat_append_name(&bench.text, flat, row, NAME_SHORT);
		buf_printf(&bench.text, " %lu %lu%s\n", (unsigned long)(row->self.weight / 1000000),
			   (unsigned long)(row->total.weight / 1000000),
			   row->inlined ? " inlined" : "");
	}
	assert_string_equal(buf_str(&bench.text), expected);
	flat_free(flat);
	bench_end(&bench);
}

TEST(flat, two_keys_are_groups_of_rows)
{
	struct made made = made_begin();
	struct thread_id first = made.thread;
	struct sample *sample;

	made_sample(&made, "main@m.c:1;work@a.c:2+inner@b.h:3;libz!leaf@l.c:4", 1);
	made_sample(&made, "main@m.c:1;work@a.c:2;main@m.c:1;work@a.c:2", 2);
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "main@m.c:1;work@a.c:2+inner@b.h:3", 20);
	made.thread = first;
	sample = made_sample(&made, "main@m.c:1", 4);
	sample->blocked_ns = 40000000;
	sample->cpu_ns = 0;
	made_sample(&made, "", 8)->kind = SAMPLE_UNATTRIBUTED;
	made_end(&made);
	expect_pairs(made.profile, METRIC_CPU, "thread,function",
		     "worker, inner 20 20 inlined\n"
		     "worker, main 0 20\n"
		     "worker, work 0 20\n"
		     "prog, [unattributed] 8 8\n"
		     "prog, work 2 3\n"
		     "prog, leaf 1 1\n"
		     "prog, main 0 3\n"
		     "prog, inner 0 1 inlined\n");
	/* The first key alone decides the order of groups. */
	expect_pairs(made.profile, METRIC_CPU, "module,thread",
		     "/bin/prog, worker 20 20\n"
		     "/bin/prog, prog 2 3\n"
		     "[unattributed], prog 8 8\n"
		     "/bin/libz, prog 1 1\n");
	expect_pairs(made.profile, METRIC_WALL, "state,thread",
		     "blocked, prog 40 40\n"
		     "running, worker 20 20\n"
		     "running, prog 3 3\n"
		     "[unattributed], prog 8 8\n");
	expect_pairs(made.profile, METRIC_CPU, "module,file",
		     "/bin/prog, b.h 20 21 inlined\n"
		     "/bin/prog, a.c 2 23\n"
		     "/bin/prog, m.c 0 23\n"
		     "[unattributed], [unattributed] 8 8\n"
		     "/bin/libz, l.c 1 1\n");
	profile_free(made.profile);
}

TEST(flat, lines_of_scripts_have_what_they_called)
{
	struct made made = made_begin();

	made_sample(&made, "main;app.py!run@app.py:9;sort", 2);
	made_sample(&made, "main;app.py!run@app.py:8;app.py!key@app.py:3;compare", 4);
	made_sample(&made, "main;app.py!run@app.py:8", 8);
	made_sample(&made, "main", 16);
	made_end(&made);
	expect_pairs(made.profile, METRIC_CPU, "script,line",
		     "[native], [native] 16 16\n"
		     "run, run 8 12\n"
		     "run, run 2 2\n"
		     "key, key 4 4\n");
	expect_pairs(made.profile, METRIC_CPU, "script,thread",
		     "[native], prog 16 16\n"
		     "run, prog 10 14\n"
		     "key, prog 4 4\n");
	profile_free(made.profile);
}

/* Threads that stay at a place for several samples narrow its interval: also in its module. */
TEST(flat, two_keys_of_code_have_the_intervals_of_one)
{
	const struct flat_keys keys = {.first = BY_MODULE, .second = BY_FUNCTION};
	struct made made = made_begin();
	const struct tally *total;
	struct bench bench;
	struct flat *flat;

	for (int i = 0; i < 60; i++)
		made_sample(&made, i % 30 < 20 ? "main;parse" : "main;eval", 1);
	made_end(&made);
	bench = bench_begin(made.profile, METRIC_CPU, BY_FUNCTION);
	total = &bench.weighed.weights->total;
	flat = flat_new_by(bench.weighed.weights, &keys);
	assert_int_equal(flat->nr, 3);
	assert_int_equal(bench.flat->nr, 3);
	for (size_t i = 0; i < flat->nr; i++) {
		assert_int_equal(flat->rows[i].label, bench.flat->rows[i].label);
		assert_float_equal(tally_interval(&flat->rows[i].self, total),
				   tally_interval(&bench.flat->rows[i].self, total), 0.001);
	}
	flat_free(flat);
	bench_end(&bench);
	profile_free(made.profile);
}

/* Of a table with all of its rows those that one with a limit has. */
static void expect_first_rows(const struct weights *weights, const struct flat_request *request)
{
	const struct flat_request all = {.keys = request->keys, .sort = request->sort};
	struct flat *whole, *flat;
	size_t kept = 0, nr = 0;

	assert_int_equal(flat_new_as(weights, &all, &whole, NULL), 0);
	assert_int_equal(flat_new_as(weights, request, &flat, NULL), 0);
	assert_int_equal(flat->groups->nr, whole->groups->nr);
	for (size_t i = 0; i < whole->nr; i++) {
		const struct flat_row *row = &whole->rows[i], *same = &flat->rows[kept];

		nr = i && row->group == whole->rows[i - 1].group ? nr + 1 : 1;
		if (nr > request->limit)
			continue;
		assert_true(kept < flat->nr);
		assert_int_equal(same->group, row->group);
		assert_int_equal(same->label, row->label);
		assert_int_equal(same->thread, row->thread);
		assert_int_equal(same->self.weight, row->self.weight);
		assert_int_equal(same->total.weight, row->total.weight);
		assert_int_equal(same->inlined, row->inlined);
		kept++;
	}
	assert_int_equal(flat->nr, kept);
	assert_int_equal(flat->nr_left_out, whole->nr - kept);
	assert_int_equal(whole->nr_left_out, 0);
	assert_true(kept < whole->nr);
	flat_free(whole);
	flat_free(flat);
}

/* Some threads that have functions of nine, some of which call themselves. */
TEST(flat, a_limit_keeps_the_first_of_each_group)
{
	static const char *const orders[] = {NULL, "total", "name", "samples,self"};
	static const char *const both[] = {"thread,function", "function,thread", "module,function"};
	struct made made = made_begin();
	struct bench bench;
	uint32_t random = 7;

	for (int i = 0; i < 200; i++) {
		char stack[100];
		unsigned int a, b, c;

		random = random * 1103515245 + 12345;
		a = random >> 16 & 7;
		b = random >> 19 & 7;
		c = random >> 22 & 7;
		snprintf(stack, sizeof(stack),
			 "main@m.c:1;f%u@f.c:%u+i%u@i.h:3;f%u@f.c:9;f%u@f.c:7", a, a + 1, c, b, c);
		if (i % 20 == 0)
			made_thread(&made, 100, 101 + i, "worker");
		made_sample(&made, stack, 1 + (random >> 25 & 3));
	}
	made_end(&made);
	bench = bench_begin(made.profile, METRIC_CPU, BY_FUNCTION);
	for (size_t i = 0; i < ARRAY_SIZE(both) * ARRAY_SIZE(orders); i++)
		for (size_t limit = 1; limit < 6; limit++) {
			struct flat_request request = {.sort = orders[i / ARRAY_SIZE(both)],
						       .limit = limit};

			assert_int_equal(
				flat_keys_parse(both[i % ARRAY_SIZE(both)], &request.keys, NULL),
				0);
			expect_first_rows(bench.weighed.weights, &request);
		}
	bench_end(&bench);
	profile_free(made.profile);
}

TEST(flat, phases_between_marks)
{
	struct made made = made_begin();
	struct bench bench;
	struct sample *sample;

	made_sample(&made, "main", 10); /* 0 … 10 ms */
	sample = made_sample(&made, "eval", 20);
	sample->blocked_ns = 40000000;	/* and 20 ms of CPU, in 10 … 30 ms */
	made_sample(&made, "main", 10); /* … 40 ms */
	made_end(&made);
	/* As of recordings that were merged: in no order of their times. */
	profile_add_mark(made.profile, 15000000, "b");
	profile_add_mark(made.profile, 10000000, "a");
	profile_add_mark(made.profile, 50000000, "later");
	expect_table(made.profile, METRIC_CPU, BY_MARK,
		     "10 10 1 [before the first mark]\n"
		     "5 5 0 a\n"
		     "25 25 2 b\n");
	bench = bench_begin(made.profile, METRIC_WALL, BY_MARK);
	assert_int_equal(bench.flat->rows[1].times.blocked_ns, 10000000);
	assert_int_equal(bench.flat->rows[1].times.cpu_ns, 5000000);
	assert_int_equal(bench.flat->rows[2].times.blocked_ns, 30000000);
	bench_end(&bench);
	expect_pairs(made.profile, METRIC_CPU, "mark,function",
		     "[before the first mark], main 10 10\n"
		     "a, eval 5 5\n"
		     "b, eval 15 15\n"
		     "b, main 10 10\n");
	expect_pairs(made.profile, METRIC_CPU, "function,mark",
		     "eval, a 5 5\n"
		     "eval, b 15 15\n"
		     "main, [before the first mark] 10 10\n"
		     "main, b 10 10\n");
	profile_free(made.profile);
}

TEST(flat, phases_of_each_run)
{
	const struct profile_run runs[] = {
		{.start_realtime_ns = 7, .duration_ns = 20000000, .nr_processes = 1, .nr_marks = 1},
		{.start_realtime_ns = 3000007,
		 .duration_ns = 20000000,
		 .nr_processes = 1,
		 .nr_marks = 2}};
	struct made made = made_begin();
	struct bench bench;

	made_sample(&made, "main", 20);
	made_thread(&made, 200, 200, "prog");
	made_sample(&made, "main", 20)->time_ns = 23000000;
	made_end(&made);
	made.profile->meta.start_realtime_ns = 7;
	made.profile->threads[1].start_ns = 3000000;
	profile_add_mark(made.profile, 5000000, "work");
	profile_add_mark(made.profile, 10000000, "work");
	profile_add_mark(made.profile, 22000000, "done");
	profile_add_run(made.profile, &runs[0]);
	profile_add_run(made.profile, &runs[1]);
	expect_table(made.profile, METRIC_CPU, BY_MARK,
		     "5 5 0 [before the first mark]\n"
		     "15 15 1 work\n"
		     "7 7 0 [before the first mark]\n"
		     "12 12 0 work\n"
		     "1 1 1 done\n");
	bench = bench_begin(made.profile, METRIC_CPU, BY_MARK);
	assert_int_equal(flat_row_phase(bench.flat, &bench.flat->rows[1])->end_ns, 20000000);
	assert_int_equal(flat_row_phase(bench.flat, &bench.flat->rows[2])->from_ns, 3000000);
	assert_int_equal(flat_row_phase(bench.flat, &bench.flat->rows[4])->end_ns, 23000000);
	bench_end(&bench);
	profile_free(made.profile);
}

TEST(flat, processes_of_one_name_are_a_program)
{
	struct made made = made_begin();
	struct bench bench;
	const struct flat_row *row;

	made_thread(&made, 200, 200, "cc");
	made_thread(&made, 201, 201, "cc");
	made_sample(&made, "main", 1);
	made_thread(&made, 202, 202, "cc");
	made_sample(&made, "main", 2);
	made_thread(&made, 300, 300, "ld");
	made_sample(&made, "main", 4);
	made_end(&made);
	made.profile->processes[2].command = profile_intern(made.profile, "cc -c a.c");
	expect_table(made.profile, METRIC_CPU, BY_PROCESS, "4 4 1 ld\n3 3 2 cc\n");
	expect_table(made.profile, METRIC_CPU, BY_PID, "4 4 1 ld\n2 2 1 cc\n1 1 1 cc\n");
	bench = bench_begin(made.profile, METRIC_CPU, BY_PROCESS);
	row = &bench.flat->rows[1];
	/* The first one has no time. */
	assert_int_equal(row->program.nr, 2);
	assert_int_equal(made.profile->processes[row->program.heaviest].pid, 202);
	assert_false(row->program.one_command);
	assert_true(bench.flat->rows[0].program.one_command);
	bench_end(&bench);
	profile_free(made.profile);
}

/* A file may have as many programs as processes: these are not gone through for each row. */
TEST(flat, split_of_each_program_is_added_up_once)
{
	const uint32_t nr = 400000;
	struct made made = made_begin();
	struct cpu_split split;
	struct bench bench;
	uint64_t user_ns = 0;

	for (uint32_t i = 1; i <= nr; i++) {
		struct profile_process process = {.pid = 100 + (int)i, .parent = PROCESS_NONE};
		struct profile_thread thread = {.process = i, .tid = process.pid};
		char name[16];

		snprintf(name, sizeof(name), "p%u", i);
		process.name = profile_intern(made.profile, name);
		process.split = (struct cpu_split){.user_ns = i, .known = true};
		profile_add_process(made.profile, &process);
		made.thread = profile_add_thread(made.profile, &thread);
		made_sample(&made, "main", 1);
	}
	made_end(&made);
	bench = bench_begin(made.profile, METRIC_CPU, BY_PROCESS);
	alarm(30);
	for (size_t i = 0; i < bench.flat->nr; i++) {
		assert_true(flat_row_split(bench.flat, &bench.flat->rows[i], &split));
		user_ns += split.user_ns;
	}
	alarm(0);
	assert_int_equal(user_ns, (uint64_t)nr * (nr + 1) / 2);
	bench_end(&bench);
	profile_free(made.profile);
}

TEST(flat, keys_that_make_no_sense)
{
	const char *const wrong[] = {"",
				     "nothing",
				     "thread,",
				     "thread,thread",
				     "thread,process",
				     "function,module",
				     "pid,process",
				     "script,function",
				     "function,script",
				     "file,script",
				     "thread,function,line"};
	struct err err = ERR_INIT;
	struct flat_keys keys;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(flat_keys_parse(wrong[i], &keys, &err), ERR_INVALID);
	assert_int_equal(flat_keys_parse("function,line", &keys, &err), 0);
	assert_int_equal(flat_keys_check(&keys, METRIC_ALLOC, &err), 0);
	assert_int_equal(flat_keys_parse("function,state", &keys, &err), 0);
	assert_int_equal(flat_keys_check(&keys, METRIC_ALLOC, &err), ERR_INVALID);
	assert_int_equal(flat_keys_parse("lifetime,function", &keys, &err), 0);
	assert_int_equal(flat_keys_check(&keys, METRIC_CPU, &err), ERR_INVALID);
}
