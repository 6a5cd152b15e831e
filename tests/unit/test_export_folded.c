// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/err.h"
#include "tests/unit/export_text.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

TEST(folded, equal_stacks_are_one_line)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main;parse@p.c:3", 1);
	made_sample(&made, "main;emit", 2);
	made_sample(&made, "main;parse@p.c:4", 4); /* another line of the same function */
	made_sample(&made, "main", 8);
	profile = made_end(&made);
	assert_export(EXPORT_FOLDED, profile, NULL,
		      "prog;main;parse 5000000\n"
		      "prog;main;emit 2000000\n"
		      "prog;main 8000000\n");
	profile_free(profile);
}

TEST(folded, inlined_frames_are_frames)
{
	struct export_options folded = {.fold_inlines = true};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main;work@a.c:20+square@v.h:3;libm.so!sqrt", 3);
	profile = made_end(&made);
	assert_export(EXPORT_FOLDED, profile, NULL, "prog;main;work;square;sqrt 3000000\n");
	assert_export(EXPORT_FOLDED, profile, &folded, "prog;main;work;sqrt 3000000\n");
	profile_free(profile);
}

TEST(folded, names_cannot_break_a_line)
{
	struct made made = made_begin();
	struct profile *profile;

	made_thread(&made, 7, 7, "#my prog\n;x");
	made_sample(&made, "a b(char const*)", 1);
	made_sample(&made, "call 12", 1);
	made_sample(&made, "call 1.5", 1);
	made_sample(&made, "tab\there", 1);
	made_sample(&made, "tail 7 ", 1);
	made_sample(&made, "v12", 1);
	profile = made_end(&made);
	assert_export(EXPORT_FOLDED, profile, NULL,
		      "_my_prog\\n:x;a b(char const*) 1000000\n"
		      "_my_prog\\n:x;call_12 1000000\n"
		      "_my_prog\\n:x;call_1.5 1000000\n"
		      "_my_prog\\n:x;tab\\there 1000000\n"
		      "_my_prog\\n:x;tail_7 1000000\n"
		      "_my_prog\\n:x;v12 1000000\n");
	profile_free(profile);
}

TEST(folded, what_is_missing_has_a_name)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main;leaf", 1)->end = STACK_END_NO_CFI;
	made_sample(&made, "main;leaf", 2);
	made_sample(&made, "", 4)->kind = SAMPLE_UNATTRIBUTED;
	made_sample(&made, "main;..12;deep", 8);
	profile = made_end(&made);
	assert_export(EXPORT_FOLDED, profile, NULL,
		      "prog;[truncated: no unwind information];main;leaf 1000000\n"
		      "prog;main;leaf 2000000\n"
		      "prog;[unattributed] 4000000\n"
		      "prog;main;[12 frames left out];deep 8000000\n");
	profile_free(profile);
}

static struct profile *two_processes(void)
{
	struct made made = made_begin();

	made_sample(&made, "main", 1);
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "run", 2);
	made_thread(&made, 200, 200, "prog");
	made_sample(&made, "main", 4);
	made_thread(&made, 300, 300, "other");
	made_sample(&made, "main", 8);
	return made_end(&made);
}

TEST(folded, threads_merge_by_process_name_or_stay_apart)
{
	struct export_options split = {.threads = EXPORT_THREADS_SPLIT};
	struct profile *profile = two_processes();

	assert_export(EXPORT_FOLDED, profile, NULL,
		      "prog;main 5000000\n"
		      "prog;run 2000000\n"
		      "other;main 8000000\n");
	assert_export(EXPORT_FOLDED, profile, &split,
		      "prog-100/100;main 1000000\n"
		      "worker-100/101;run 2000000\n"
		      "prog-200/200;main 4000000\n"
		      "other-300/300;main 8000000\n");
	profile_free(profile);
}

TEST(folded, filters_choose_samples)
{
	const struct filter only_run = {.functions = {(const char *const[]){"^run$"}, 1}};
	struct export_options options = {.filter = &only_run};
	struct profile *profile = two_processes();

	assert_export(EXPORT_FOLDED, profile, &options, "prog;run 2000000\n");
	profile_free(profile);
}

TEST(folded, metric_and_weights)
{
	struct export_options blocked = {.metric = METRIC_BLOCKED};
	struct export_options wall = {.metric = METRIC_WALL};
	struct export_options samples = {.metric = METRIC_SAMPLES};
	struct export_options counted = {.weights = EXPORT_WEIGHTS_SAMPLES};
	struct made made = made_begin();
	struct profile *profile;
	struct sample *asleep;

	made_sample(&made, "main;work", 3)->nr = 3;
	asleep = made_sample(&made, "main;nap", 0);
	asleep->blocked_ns = 70;
	asleep->nr = 2;
	profile = made_end(&made);
	assert_export(EXPORT_FOLDED, profile, &blocked, "prog;main;nap 70\n");
	assert_export(EXPORT_FOLDED, profile, &wall, "prog;main;work 3000000\nprog;main;nap 70\n");
	assert_export(EXPORT_FOLDED, profile, &samples, "prog;main;work 3\nprog;main;nap 2\n");
	assert_export(EXPORT_FOLDED, profile, &counted, "prog;main;work 3\n");
	profile_free(profile);
}

TEST(export, nothing_to_write_is_an_error)
{
	const struct filter nowhere = {.functions = {(const char *const[]){"nowhere"}, 1}};
	const struct filter everything = {.from_ns = 0};
	struct export_options filtered = {.filter = &nowhere};
	struct export_options blocked = {.filter = &everything, .metric = METRIC_BLOCKED};
	struct profile *profile = two_processes();
	struct sink sink = SINK_MEMORY;
	struct err err = ERR_INIT;

	assert_int_equal(export_write(EXPORT_FOLDED, profile, &filtered, &sink, &err), ERR_EMPTY);
	assert_string_equal(err.what, "no samples are left after the filters");
	assert_int_equal(export_write(EXPORT_FOLDED, profile, &blocked, &sink, &err), ERR_EMPTY);
	assert_string_equal(err.what, "no blocked time was recorded");
	assert_int_equal(sink.pending.nr_bytes, 0);
	profile_free(profile);
}
