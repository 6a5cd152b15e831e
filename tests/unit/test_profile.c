// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "profile/profile.h"
#include "tests/unit/unit.h"

static struct thread_id add_thread(struct profile *profile)
{
	struct profile_process process = {.pid = 10, .parent = PROCESS_NONE};
	struct profile_thread thread = {.tid = 10};

	thread.process = profile_add_process(profile, &process).v;
	return profile_add_thread(profile, &thread);
}

TEST(profile, frames_are_distinct)
{
	struct profile *profile = profile_new();
	struct code_address where = {.module = MODULE_UNKNOWN, .address = 0x1000};
	struct frame_id first = profile_intern_frame(profile, where);

	assert_int_equal(first.v, 0);
	assert_int_equal(profile_intern_frame(profile, where).v, 0);
	where.address++;
	assert_int_equal(profile_intern_frame(profile, where).v, 1);
	assert_int_equal(profile->nr_frames, 2);
	profile_free(profile);
}

TEST(profile, functions_are_distinct)
{
	struct profile *profile = profile_new();
	struct function row = {.name = profile_intern(profile, "run"), .line = 10};

	profile_reset_symbols(profile);
	assert_int_equal(profile_intern_function(profile, &row).v, 0);
	assert_int_equal(profile_intern_function(profile, &row).v, 0);
	row.line = 11; /* another static run() of the same file */
	assert_int_equal(profile_intern_function(profile, &row).v, 1);
	profile_reset_symbols(profile);
	assert_int_equal(profile->symbols.nr_functions, 0);
	assert_int_equal(profile_intern_function(profile, &row).v, 0);
	profile_free(profile);
}

TEST(profile, totals_add_every_sample)
{
	struct profile *profile = profile_new();
	struct sample sample = {.cpu_ns = 100, .runq_ns = 20, .blocked_ns = 3, .nr = 2};
	struct sample lost = {.cpu_ns = 7, .nr = 0, .kind = SAMPLE_UNATTRIBUTED};

	sample.thread = lost.thread = add_thread(profile);
	profile_add_sample(profile, &sample);
	profile_add_sample(profile, &lost);
	assert_int_equal(profile_total(profile, METRIC_CPU), 107);
	assert_int_equal(profile_total(profile, METRIC_RUNQ), 20);
	assert_int_equal(profile_total(profile, METRIC_BLOCKED), 3);
	assert_int_equal(profile_total(profile, METRIC_WALL), 130);
	assert_int_equal(profile_total(profile, METRIC_SAMPLES), 2);
	profile_free(profile);
}

TEST(profile, counters_are_overwritten_by_name)
{
	struct profile *profile = profile_new();

	profile_set_counter(profile, "stops", 1);
	profile_set_counter(profile, "late_ticks", 5);
	profile_set_counter(profile, "stops", 2);
	assert_int_equal(profile->nr_counters, 2);
	assert_int_equal(profile_counter(profile, "stops"), 2);
	assert_int_equal(profile_counter(profile, "late_ticks"), 5);
	assert_int_equal(profile_counter(profile, "never"), 0);
	profile_free(profile);
}

TEST(profile, chains_belong_to_frames)
{
	struct profile *profile = profile_new();
	struct function inner = {.name = profile_intern(profile, "inner")};
	struct function outer = {.name = profile_intern(profile, "outer")};
	struct location chain[2] = {{.line = 3}, {.line = 9}};
	struct frame_id bare = profile_intern_frame(profile, (struct code_address){.address = 1});
	struct frame_id named = profile_intern_frame(profile, (struct code_address){.address = 2});

	profile_reset_symbols(profile);
	assert_int_equal(profile->symbols.nr_frames, 2);
	chain[0].function = profile_intern_function(profile, &inner);
	chain[1].function = profile_intern_function(profile, &outer);
	profile_set_chain(profile, named, chain, 2);
	assert_int_equal(profile->symbols.frames[bare.v].nr, 0);
	assert_int_equal(profile->symbols.frames[named.v].nr, 2);
	assert_int_equal(profile->symbols.locations[profile->symbols.frames[named.v].first].line,
			 3);
	assert_int_equal(profile->symbols.nr_modules, 1); /* [unknown] */
	profile_free(profile);
}

TEST(profile, marks_and_command_words)
{
	struct profile *profile = profile_new();

	profile_add_command_word(profile, "sort");
	profile_add_command_word(profile, "-n");
	profile_add_mark(profile, 42, "warm");
	assert_int_equal(profile->meta.nr_command, 2);
	assert_string_equal(profile_str(profile, profile->meta.command[1]), "-n");
	assert_int_equal(profile->marks[0].time_ns, 42);
	assert_string_equal(profile_str(profile, profile->marks[0].text), "warm");
	profile_free(profile);
}

TEST(metric, names_and_units)
{
	enum metric metric = METRIC_CPU;

	assert_true(metric_parse("blocked", &metric));
	assert_int_equal(metric, METRIC_BLOCKED);
	assert_false(metric_parse("CPU", &metric));
	assert_int_equal(metric, METRIC_BLOCKED);
	assert_string_equal(metric_name(METRIC_RUNQ), "runq");
	assert_string_equal(metric_unit(METRIC_WALL), "ns");
	assert_string_equal(metric_unit(METRIC_SAMPLES), "samples");
}

TEST(symbol_source, every_source_has_its_own_name)
{
	assert_string_equal(symbol_source_name(SYMBOL_SOURCE_DWARF), "DWARF");
	for (int i = 0; i < SYMBOL_SOURCE_COUNT; i++) {
		for (int j = 0; j < i; j++)
			assert_string_not_equal(symbol_source_name((enum symbol_source)i),
						symbol_source_name((enum symbol_source)j));
	}
}

TEST(profile, title_is_the_command_or_the_first_process)
{
	struct profile *profile = profile_new();
	struct profile_process process = {.pid = 10, .parent = PROCESS_NONE};
	struct buf title = {0};

	profile_append_title(&title, profile);
	assert_int_equal(title.nr_bytes, 0);
	process.name = profile_intern(profile, "server");
	process.command = profile_intern(profile, "server: *:80   ");
	profile_add_process(profile, &process);
	profile_append_title(&title, profile);
	assert_string_equal(buf_str(&title), "server: *:80");
	profile_add_command_word(profile, "prog");
	profile_add_command_word(profile, "-x");
	buf_clear(&title);
	profile_append_title(&title, profile);
	assert_string_equal(buf_str(&title), "prog -x");
	buf_release(&title);
	profile_free(profile);
}
