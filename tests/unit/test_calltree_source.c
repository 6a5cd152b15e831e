// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/source_path.h"
#include "calltree/find.h"
#include "calltree/per_call.h"
#include "calltree/source.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"

struct bench {
	struct profile *profile;
	struct weighed_fixture weighed;
	struct source *source;
};

static void bench_of(struct bench *bench, struct profile *profile)
{
	bench->profile = profile;
	bench->weighed = weighed_new(profile, NULL, METRIC_CPU);
	bench->source = source_new(bench->weighed.weights);
}

/*
 *	prog.c:20	return square(x) + 1;		square() inlined, v.h:3
 *	prog.c:30	return fib(n - 1) + fib(n - 2);
 */
static void bench_begin(struct bench *bench)
{
	struct made made = made_begin();

	made_sample(&made, "main@prog.c:40;work@prog.c:20+square@v.h:3", 8);
	made_sample(&made, "main@prog.c:40;work@prog.c:20", 1);
	made_sample(&made, "main@prog.c:41;fib@prog.c:30;fib@prog.c:30;fib@prog.c:29", 2);
	made_sample(&made, "main@prog.c:42+square@v.h:3+mul@v.h:9", 4);
	made_sample(&made, "libz!?", 16);
	bench_of(bench, made_end(&made));
}

static void bench_end(struct bench *bench)
{
	source_free(bench->source);
	weighed_free(&bench->weighed);
	profile_free(bench->profile);
}

static unsigned long ms(const struct tally *tally)
{
	return (unsigned long)(tally->weight / 1000000);
}

static void append_file(struct buf *out, const struct bench *bench, const struct source_file *file)
{
	const struct source *source = bench->source;

	buf_printf(out, "%s %lu %lu\n", profile_str(bench->profile, file->file), ms(&file->self),
		   ms(&file->total));
	for (uint32_t i = 0; i < file->nr_lines; i++) {
		const struct source_line *line = &source->lines[file->first_line + i];

		assert_ptr_equal(source_find_line(source, file, line->line), line);
		buf_printf(out, "%lu %lu :%u", ms(&line->self), ms(&line->total), line->line);
		for (uint32_t j = 0; j < line->nr_sites; j++) {
			const struct source_site *site = &source->sites[line->first_site + j];

			buf_printf(out, " <- %lu ", ms(&site->total));
			label_append_name(out, bench->weighed.expansion, site->label, NAME_FULL);
		}
		buf_append_byte(out, '\n');
	}
}

TEST(source, cost_of_each_line)
{
	struct bench bench;
	struct buf text = {0};

	bench_begin(&bench);
	for (size_t i = 0; i < bench.source->nr_files; i++)
		append_file(&text, &bench, &bench.source->files[i]);
	assert_string_equal(buf_str(&text), "v.h 12 12\n"
					    "8 12 :3 <- 4 mul\n"
					    "4 4 :9\n"
					    "prog.c 3 15\n"
					    "1 9 :20 <- 8 square\n"
					    "2 2 :29\n"
					    "0 2 :30\n"
					    "0 9 :40\n"
					    "0 2 :41\n"
					    "0 4 :42 <- 4 square\n");
	assert_null(source_find_line(bench.source, &bench.source->files[1], 28));
	buf_release(&text);
	bench_end(&bench);
}

TEST(source, spans_of_functions)
{
	struct source_span *spans;
	struct bench bench;
	bool *wanted;

	bench_begin(&bench);
	assert_int_equal(find_labels(bench.weighed.expansion, "main", &wanted, NULL), 0);
	assert_int_equal(source_find_spans(bench.source, wanted, &spans), 1);
	assert_string_equal(profile_str(bench.profile, spans[0].file), "prog.c");
	assert_int_equal(spans[0].first, 1); /* made-up functions are defined in line 1 */
	assert_int_equal(spans[0].last, 42);
	free(spans);
	free(wanted);
	bench_end(&bench);
}

TEST(source, none_without_line_numbers)
{
	struct made made = made_begin();
	struct source_span *spans;
	struct bench bench;
	bool *wanted;

	made_sample(&made, "main;work", 8);
	bench_of(&bench, made_end(&made));
	assert_int_equal(bench.source->nr_files, 0);
	assert_int_equal(bench.source->nr_lines, 0);
	assert_int_equal(find_labels(bench.weighed.expansion, "main", &wanted, NULL), 0);
	assert_int_equal(source_find_spans(bench.source, wanted, &spans), 0);
	free(spans);
	free(wanted);
	bench_end(&bench);
}

TEST(source, most_time_without_lines_has_a_module)
{
	struct bench bench;
	struct module_id most;

	bench_begin(&bench);
	most = source_hottest_without_lines(bench.weighed.weights);
	assert_string_equal(module_short_name(module_table_get(bench.profile->modules, most)),
			    "libz");
	bench_end(&bench);
}

TEST(source_path, ends_match_whole_components)
{
	assert_true(source_path_matches("/src/prog/main.c", "main.c"));
	assert_true(source_path_matches("/src/prog/main.c", "./prog/main.c"));
	assert_true(source_path_matches("/src/lib/../prog/main.c", "/src/prog/main.c"));
	assert_true(source_path_matches("main.c", "/home/me/main.c"));
	assert_false(source_path_matches("/src/prog/main.c", "ain.c"));
	assert_false(source_path_matches("/src/prog/main.c", "lib/main.c"));
}

static bool *labels_of(const struct bench *bench, const char *word)
{
	bool *wanted = xcalloc(bench->weighed.expansion->nr_labels, sizeof(*wanted));

	assert_int_equal(find_labels_or_file(bench->weighed.expansion, word, wanted, NULL), 0);
	return wanted;
}

static void assert_labels(const struct bench *bench, const char *word, const char *names)
{
	cleanup_free bool *wanted = labels_of(bench, word);
	struct buf found = {0};

	for (uint32_t i = 0; i < bench->weighed.expansion->nr_labels; i++) {
		if (!wanted[i])
			continue;
		label_append_name(&found, bench->weighed.expansion, i, NAME_FULL);
		buf_append_byte(&found, ' ');
	}
	assert_string_equal(buf_str(&found), names);
	buf_release(&found);
}

TEST(find, a_word_means_a_file_or_a_function)
{
	struct bench bench;
	bool none;

	bench_begin(&bench);
	assert_labels(&bench, "v.h", "square mul ");
	assert_labels(&bench, "fib", "fib ");
	assert_int_equal(find_labels_or_file(bench.weighed.expansion, "w.h", &none, NULL),
			 ERR_NOT_FOUND);
	bench_end(&bench);
}

/*
 * Line 20 calls `work` from 10 ms on; in the process that was not counted it has 30 ms. Line 21
 * calls from the beginning.
 */
TEST(source, time_per_call_of_what_was_counted)
{
	struct made made = made_begin();
	const struct source_file *file;
	struct per_call per_call;
	struct bench bench;

	made_sample(&made, "main@prog.c:20;work@w.c:2", 10);
	made_sample(&made, "main@prog.c:20;work@w.c:2", 8);
	made_sample(&made, "main@prog.c:21;work@w.c:2", 4);
	made_count(&made, "main@prog.c:20", "work@w.c:1", 4)->from_ns = 10000000;
	made_count(&made, "main@prog.c:21", "work@w.c:1", 2);
	made_count(&made, "main@prog.c:30", "idle@i.c:1", 0);
	made_count(&made, "idle@i.c:1", NULL, 7);
	made_thread(&made, 200, 200, "other");
	made_sample(&made, "main@prog.c:20;work@w.c:2", 30);
	bench_of(&bench, made_end(&made));
	file = &bench.source->files[1];
	assert_string_equal(profile_str(bench.profile, file->file), "prog.c");
	assert_int_equal(file->nr_lines, 3);
	assert_int_equal(source_find_line(bench.source, file, 20)->calls, 4);
	assert_true(source_line_per_call(bench.source, source_find_line(bench.source, file, 20),
					 &per_call));
	assert_int_equal(per_call.ns, 2000000);
	assert_true(source_line_per_call(bench.source, source_find_line(bench.source, file, 21),
					 &per_call));
	assert_int_equal(per_call.ns, 2000000);
	assert_true(source_find_line(bench.source, file, 30)->counted);
	assert_false(source_line_per_call(bench.source, source_find_line(bench.source, file, 30),
					  &per_call));
	file = &bench.source->files[2];
	assert_string_equal(profile_str(bench.profile, file->file), "i.c");
	assert_int_equal(source_find_line(bench.source, file, 1)->calls, 7);
	bench_end(&bench);
}
