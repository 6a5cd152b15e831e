// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "base/buf.h"
#include "base/sink.h"
#include "profile/profile.h"
#include "profile/survey.h"
#include "tests/unit/unit.h"
#include "view/counter_words.h"
#include "view/info.h"
#include "view/info_counts.h"

static char prog_path[] = "/opt/app/bin/prog";
static char stripped_path[] = "/opt/app/lib/libhostile\x1b[2J.so.1";

static void fill_meta(struct profile *profile)
{
	struct profile_meta *meta = &profile->meta;

	meta->version = profile_intern(profile, "0.1.0");
	meta->hostname = profile_intern(profile, "vulcan");
	meta->arch = profile_intern(profile, "x86_64");
	meta->kernel = profile_intern(profile, "6.1.0");
	meta->unwinder = profile_intern(profile, "auto");
	meta->nr_cpus = 8;
	meta->frequency_hz = 500;
	meta->max_overhead_ppm = 20000;
	meta->start_realtime_ns = UINT64_C(1700000000123456789);
	meta->duration_ns = 2000000000;
	meta->exit_status = 0x100;
	meta->complete = true;
	profile_add_command_word(profile, "./prog");
	profile_add_command_word(profile, "\x1b]0;owned");
}

/* Three quarters of the CPU time in prog, complete; the rest in a stripped library. */
static struct profile *made_up(void)
{
	struct profile *profile = profile_new();
	struct module prog = {.kind = MODULE_KIND_FILE,
			      .path = prog_path,
			      .build_id = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0},
			      .nr_build_id_bytes = 8,
			      .fd = -1};
	struct module stripped = {
		.kind = MODULE_KIND_FILE, .path = stripped_path, .deleted = true, .fd = -1};
	struct module_id prog_id = module_table_intern(profile->modules, &prog);
	struct module_id stripped_id = module_table_intern(profile->modules, &stripped);
	struct profile_process process = {.pid = 1, .parent = PROCESS_NONE};
	struct profile_thread thread = {.tid = 1};
	struct sample sample = {.cpu_ns = 1500000000, .blocked_ns = 400000000, .nr = 750};

	fill_meta(profile);
	profile_add_process(profile, &process);
	profile_add_thread(profile, &thread);
	sample.stack = stack_trie_intern(
		profile->stacks, STACK_EMPTY,
		profile_intern_frame(profile, (struct code_address){prog_id, 0x1000}));
	profile_add_sample(profile, &sample);
	sample = (struct sample){.cpu_ns = 500000000, .nr = 250, .end = STACK_END_NO_CFI};
	sample.stack = stack_trie_intern(
		profile->stacks, STACK_EMPTY,
		profile_intern_frame(profile, (struct code_address){stripped_id, 0x2000}));
	profile_add_sample(profile, &sample);
	profile_reset_symbols(profile);
	profile->symbols.modules[1].source = SYMBOL_SOURCE_DWARF;
	profile->symbols.modules[2].problem = profile_intern(profile, "it is stripped");
	profile_set_counter(profile, "stops", 1000);
	profile_set_counter(profile, "hold_ns_median", 21000);
	profile_set_counter(profile, "stacks_root", 750);
	profile_set_counter(profile, "new_thing", 7);
	return profile;
}

static void check_text(const struct profile *profile, const char *expected)
{
	struct view view = {.columns = 80};
	struct survey *survey = survey_new(profile);
	struct sink sink = SINK_MEMORY;

	info_print_text(profile, survey, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	survey_free(survey);
}

static void check_start(const struct profile *profile, const char *expected)
{
	struct view view = {.columns = 80};
	struct survey *survey = survey_new(profile);
	struct sink sink = SINK_MEMORY;

	info_print_text(profile, survey, &view, &sink);
	assert_true(sink.pending.nr_bytes > strlen(expected));
	sink.pending.bytes[strlen(expected)] = '\0';
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	survey_free(survey);
}

TEST(info, tells_all_on_80_columns)
{
	struct profile *profile = made_up();

	profile->processes[0].split =
		(struct cpu_split){.user_ns = 1200000000, .system_ns = 600000000, .known = true};
	check_text(profile,
		   "command     ./prog \\x1b]0;owned\n"
		   "recorded    2023-11-14 22:13:20 UTC, for 2.00 s, by profc 0.1.0\n"
		   "ended       the command exited with status 1\n"
		   "host        vulcan, x86_64, 8 CPUs, 6.1.0\n"
		   "sampling    500 Hz requested, at most 2% overhead, unwinder auto\n"
		   "time        2.00 s CPU (1.20 s user, 600 ms system, 200 ms unknown), 0 ns\n"
		   "            waiting for a CPU, 400 ms blocked; 2.40 s in all threads\n"
		   "samples     1,000\n"
		   "contents    1 process, 1 thread, 2 stacks of 2 addresses in 2 modules\n"
		   "\n"
		   "Stacks\n"
		   "75.0% of the CPU time and 100.0% of the attributed blocked time is in stacks\n"
		   "complete to the root.\n"
		   "cpu % blocked % samples  why truncated          in\n"
		   " 25.0       0.0     250  no unwind information  libhostile\\x1b[2J.so.1\n"
		   "  hint: no unwind information: build it with -fasynchronous-unwind-tables or\n"
		   "        -fno-omit-frame-pointer\n"
		   "\n"
		   "Modules\n"
		   "samples cpu %  symbols from  build-id      module\n"
		   "    750  75.0  DWARF         123456789abc  /opt/app/bin/prog\n"
		   "    250  25.0  none                        …lib/libhostile\\x1b[2J.so.1 "
		   "(deleted)\n"
		   "  hint: libhostile\\x1b[2J.so.1: it is stripped\n"
		   "\n"
		   "Target perturbation\n"
		   "         1,000  ptrace-stops of threads\n"
		   "       21.0 µs  length of a stop, median\n"
		   "\n"
		   "Other counters\n"
		   "             7  new_thing\n");
	profile_free(profile);
}

TEST(info, modules_with_one_problem_share_a_hint)
{
	static const char one[] = "  hint: lib0.so, lib1.so, lib2.so, lib3.so and 2 more: it is "
				  "stripped\n",
			  other[] = "  hint: lib6.so: it is gone\n";
	struct profile *profile = profile_new();
	struct profile_process process = {.pid = 1, .parent = PROCESS_NONE};
	struct profile_thread thread = {.tid = 1};
	struct view view = {.columns = 80};
	struct sink sink = SINK_MEMORY;
	struct survey *survey;
	const char *hint;

	profile_add_process(profile, &process);
	profile_add_thread(profile, &thread);
	for (uint64_t i = 0; i < 7; i++) {
		cleanup_free char *path = xasprintf("/lib/lib%d.so", (int)i);
		struct module module = {.kind = MODULE_KIND_FILE, .path = path, .fd = -1};
		struct code_address address = {module_table_intern(profile->modules, &module), 8};
		struct sample sample = {.cpu_ns = 1000 - i, .nr = 1};

		sample.stack = stack_trie_intern(profile->stacks, STACK_EMPTY,
						 profile_intern_frame(profile, address));
		profile_add_sample(profile, &sample);
	}
	profile_reset_symbols(profile);
	for (uint32_t i = 1; i <= 7; i++)
		profile->symbols.modules[i].problem =
			profile_intern(profile, i <= 6 ? "it is stripped" : "it is gone");
	survey = survey_new(profile);
	info_print_text(profile, survey, &view, &sink);
	hint = strstr(buf_str(&sink.pending), one);
	assert_non_null(hint);
	assert_non_null(strstr(hint, other));
	assert_null(strstr(hint + strlen(one), "stripped"));
	sink_release(&sink);
	survey_free(survey);
	profile_free(profile);
}

/* Ticks alone are not the rate at which threads were sampled, which record says as well. */
TEST(info, says_the_rate_that_record_says)
{
	struct profile *profile = profile_new();

	profile->meta.complete = true;
	profile->meta.attached = true;
	profile->meta.frequency_hz = 500;
	profile->meta.max_overhead_ppm = 20000;
	profile_set_counter(profile, "ticks", 5000);
	profile_set_counter(profile, "frequency_hz_effective", 499600);
	profile_set_counter(profile, "interrupts", 2000);
	profile_set_counter(profile, "left_out_stops", 2000);
	profile_set_counter(profile, "stop_cost_ns", 40000);
	profile_set_counter(profile, "cost_ppm", 9000);
	check_start(profile,
		    "command     (running processes)\n"
		    "recorded    for 0 ns\n"
		    "ended       detached\n"
		    "sampling    500 Hz requested, 500 ticks a second, at most 2% overhead\n"
		    "rate        sampled at 250 Hz of 500: at most 2% of CPU time may be lost; "
		    "stops\n"
		    "            took 0.9%, 40 us each\n"
		    "time        ");
	profile_free(profile);
}

TEST(info, threads_that_were_not_sampled)
{
	struct profile *profile = profile_new();

	profile->meta.complete = true;
	profile->meta.attached = true;
	profile->meta.nr_cpus = 2;
	check_text(profile,
		   "command     (running processes)\n"
		   "recorded    for 0 ns\n"
		   "ended       detached\n"
		   "host        2 CPUs\n"
		   "sampling    none of threads (--no-cpu)\n"
		   "contents    0 processes, 0 threads, 0 stacks of 0 addresses in 0 modules\n");
	profile_free(profile);
}

TEST(info, says_which_interpreters_were_recognised)
{
	struct profile *profile = made_up();
	struct view view = {.columns = 400};
	struct sink sink = SINK_MEMORY;
	struct survey *survey;

	profile_set_counter(profile, "script_read_Python_3.12", 2);
	profile_set_counter(profile, "script_unknown_version_Python_3.7", 1);
	profile_set_counter(profile, "script_other_layout_Python_3.13", 1);
	profile_set_counter(profile, "script_other_processor_PHP", 1);
	profile_set_counter(profile, "script_proved", 1);
	profile_set_counter(profile, "script_torn", 3);
	survey = survey_new(profile);
	info_print_text(profile, survey, &view, &sink);
	survey_free(survey);
	assert_non_null(
		strstr(buf_str(&sink.pending),
		       "\nscripts     Python 3.12 in 2 processes; Python 3.7 in 1 process: its "
		       "functions are not read (known: 3.8 to 3.13); Python 3.13 in 1 process: "
		       "its functions are not read, as it is not built as its version usually is "
		       "(known: 3.8 to 3.13); PHP in 1 process: its functions are read on x86-64 "
		       "alone (known: 8.2)\n"));
	assert_non_null(strstr(
		buf_str(&sink.pending),
		"\nFunctions of scripts\n"
		"             1  samples with the interpreter's functions, all proved\n"
		"             3  refused: the interpreter was just changing its functions\n"));
	sink_release(&sink);
	profile_free(profile);
}

TEST(info, an_empty_cut_profile)
{
	struct profile *profile = profile_new();

	profile->meta.attached = true;
	profile->meta.complete = false;
	profile->meta.nr_cpus = 2;
	profile->meta.frequency_hz = 500;
	check_text(
		profile,
		"command     (running processes)\n"
		"recorded    for 0 ns\n"
		"ended       incomplete: the recording did not finish\n"
		"host        2 CPUs\n"
		"sampling    500 Hz requested\n"
		"time        0 ns CPU, 0 ns waiting for a CPU, 0 ns blocked; 0 ns in all threads\n"
		"samples     0\n"
		"contents    0 processes, 0 threads, 0 stacks of 0 addresses in 0 modules\n");
	profile_free(profile);
}

TEST(info, an_attached_process_is_named)
{
	struct profile *profile = profile_new();
	struct profile_process process = {.pid = 7, .parent = PROCESS_NONE};
	struct survey *survey;
	struct view view = {.columns = 80};
	struct sink sink = SINK_MEMORY;

	process.command = profile_intern(profile, "server -d\033");
	profile->meta.attached = true;
	profile_add_process(profile, &process);
	survey = survey_new(profile);
	info_print_text(profile, survey, &view, &sink);
	assert_ptr_equal(strstr(buf_str(&sink.pending), "command     server -d\\x1b (attached)\n"),
			 buf_str(&sink.pending));
	sink_release(&sink);
	survey_free(survey);
	profile_free(profile);
}

static void check_end(struct profile *profile, const char *expected)
{
	struct view view = {.columns = 80};
	struct survey *survey = survey_new(profile);
	struct sink sink = SINK_MEMORY;
	const char *ended;

	info_print_text(profile, survey, &view, &sink);
	ended = strstr(buf_str(&sink.pending), "\nended       ");
	assert_non_null(ended);
	assert_memory_equal(ended + strlen("\nended       "), expected, strlen(expected));
	sink_release(&sink);
	survey_free(survey);
}

TEST(info, says_how_it_ended)
{
	struct profile *profile = made_up();

	profile->meta.exit_status = 9; /* as of wait(2) */
	check_end(profile, "the command was killed by signal 9\n");
	profile->meta.exit_status = -1;
	check_end(profile, "completed; exit status of the command unknown\n");
	profile->meta.attached = true;
	check_end(profile, "detached\n");
	profile->meta.complete = false;
	check_end(profile, "incomplete: the recording did not finish\n");
	profile_free(profile);
}

TEST(info, says_that_a_flight_recorder_went_on)
{
	struct profile *profile = made_up();

	profile->meta.exit_status = -1;
	profile_set_counter(profile, "trigger_ns", 77);
	profile_add_mark(profile, 77, PROFILE_TRIGGER_MARK "cpu>90%/2s");
	check_end(profile, "the file ends after its trigger; the recorder went on\n");
	profile->meta.attached = true;
	check_end(profile, "the file ends after its trigger; the recorder went on\n");
	profile_add_mark(profile, 77, PROFILE_TRIGGER_MARK "exit");
	check_end(profile, "detached\n");
	profile_free(profile);
}

TEST(info, json_of_marks_and_of_what_is_not_known)
{
	struct profile *profile = made_up();
	struct profile_process child = {.pid = 7, .parent = 0, .start_ns = 5};
	struct survey *survey = survey_new(profile);
	struct sink sink = SINK_MEMORY;

	profile->meta.exit_status = -1;
	profile_add_process(profile, &child);
	profile_add_mark(profile, 1500, "phase \"2\"");
	info_print_json(profile, survey, &sink);
	assert_non_null(strstr(buf_str(&sink.pending), "\"wait_status\":null,"));
	assert_non_null(strstr(buf_str(&sink.pending),
			       "{\"pid\":7,\"parent_pid\":1,\"name\":null,\"exe\":null,"
			       "\"command\":null,\"start_ns\":5,\"end_ns\":0,"
			       "\"faults\":null,\"unseen\":null}"));
	assert_non_null(strstr(buf_str(&sink.pending),
			       "\"marks\":[{\"time_ns\":1500,\"text\":\"phase \\\"2\\\"\"}]"));
	sink_release(&sink);
	survey_free(survey);
	profile_free(profile);
}

TEST(info, lists_the_first_marks)
{
	struct profile *profile = made_up();
	struct survey *survey = survey_new(profile);
	const struct view view = {.columns = 40};
	struct sink sink = SINK_MEMORY;

	profile_add_mark(profile, 1500 * UINT64_C(1000000), "warm\x1b[2J");
	for (int i = 0; i < 20; i++)
		profile_add_mark(profile, 12345 * UINT64_C(1000000),
				 "a name that is far too long for forty columns");
	info_print_text(profile, survey, &view, &sink);
	assert_non_null(strstr(buf_str(&sink.pending),
			       "\nMarks\n"
			       "   time  mark\n"
			       " 1.500s  warm\\x1b[2J\n"
			       "12.345s  a name that is far too long fo…\n"));
	assert_non_null(strstr(buf_str(&sink.pending), "... and 1 more; --json lists all\n"));
	sink_release(&sink);
	survey_free(survey);
	profile_free(profile);
}

static struct profile_count counted_at(uint32_t frame, enum count_kind kind, uint32_t process)
{
	return (struct profile_count){.process = process,
				      .where = {frame},
				      .callee = COUNT_NO_CALLEE,
				      .kind = (uint8_t)kind,
				      .flags = COUNT_FROM_START,
				      .calls = 7,
				      .from_ns = 3};
}

static void refuse(struct profile *profile, uint32_t process, const char *name, const char *reason)
{
	struct profile_refusal refusal = {.process = process,
					  .function = profile_intern(profile, name),
					  .module = profile_intern(profile, prog_path),
					  .reason = profile_intern(profile, reason)};

	profile_add_refusal(profile, &refusal);
}

/* A function and two of its calls, in two processes. */
static struct profile *made_up_counts(void)
{
	struct profile *profile = made_up();
	struct profile_process child = {.pid = 2, .parent = 0};
	struct profile_count rows[] = {
		counted_at(0, COUNT_ENTRY, 0), counted_at(0, COUNT_CALL, 0),
		counted_at(1, COUNT_CALL, 0),  counted_at(0, COUNT_ENTRY, 1),
		counted_at(1, COUNT_CALL, 1),
	};

	profile_add_process(profile, &child);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		profile_add_count(profile, &rows[i]);
	profile_set_counter(profile, "probe_functions", 1);
	profile_set_counter(profile, "probe_calls", 2);
	return profile;
}

/* The caller frees it. */
static char *text_of(const struct profile *profile)
{
	struct view view = {.columns = 80};
	struct survey *survey = survey_new(profile);
	struct sink sink = SINK_MEMORY;
	char *text;

	info_print_text(profile, survey, &view, &sink);
	text = strdup(buf_str(&sink.pending));
	sink_release(&sink);
	survey_free(survey);
	return text;
}

/* The part that tells of counts is this. */
static void check_counts(const struct profile *profile, const char *expected)
{
	char *text = text_of(profile);
	char *found = strstr(text, "\nCounts\n"), *end;

	assert_non_null(found);
	end = strstr(found + 1, "\n\n");
	assert_non_null(end);
	end[1] = '\0';
	assert_string_equal(found + strlen("\nCounts\n"), expected);
	free(text);
}

TEST(info, tells_what_is_counted_since_when)
{
	struct profile *profile = made_up_counts();
	struct profile_count *counts = profile->probes.counts;

	check_counts(profile, "1 function and 2 call sites in 2 processes, counted from the "
			      "start.\n");
	counts[3].flags = counts[4].flags = 0;
	counts[3].from_ns = 1300000000;
	counts[4].from_ns = 1200000000;
	profile_set_counter(profile, "probe_install_ns", 1500000);
	profile_set_counter(profile, "probe_stop_ns_max", 900000);
	check_counts(profile,
		     "1 function and 2 call sites in 2 processes, counted from the start in 1 of "
		     "them,\n"
		     "else from 1.20 s on; stopped for 1.50 ms to install probes, at most 900 µs "
		     "at\n"
		     "once.\n");
	for (size_t i = 0; i < profile->probes.nr_counts; i++)
		counts[i].flags = 0;
	counts[0].from_ns = counts[1].from_ns = counts[2].from_ns = 8000000;
	check_counts(profile, "1 function and 2 call sites in 2 processes, counted from 8.00 ms "
			      "on; stopped for\n1.50 ms to install probes, at most 900 µs at "
			      "once.\n");
	profile_free(profile);
}

static void check_line(const struct profile *profile, const char *expected)
{
	struct buf line = {0};

	assert_true(info_append_counts(&line, profile));
	assert_string_equal(buf_str(&line), expected);
	buf_release(&line);
}

TEST(info, one_line_says_how_many_calls_were_counted)
{
	struct profile *profile = made_up();
	struct profile_count rows[] = {counted_at(0, COUNT_ENTRY, 0), counted_at(0, COUNT_CALL, 0),
				       counted_at(1, COUNT_CALL, 0)};
	struct buf line = {0};

	assert_false(info_append_counts(&line, profile));
	assert_int_equal(line.nr_bytes, 0);
	profile_add_count(profile, &rows[0]);
	check_line(profile, "counted 7 calls of 1 function");
	profile->probes.counts[0].calls = 1234567;
	profile_add_count(profile, &rows[1]);
	profile_add_count(profile, &rows[2]);
	refuse(profile, 0, "short", "it is too short");
	refuse(profile, 0, "short", "it is too short");
	check_line(profile, "counted 1,234,567 calls of 1 function and 14 calls at 2 call sites; "
			    "1 could not be: profc info says why");
	profile_free(profile);
}

TEST(info, refusals_with_one_reason_are_told_together)
{
	struct profile *profile = made_up();
	char name[16], *text;

	refuse(profile, 0, "odd\x1b[2J", "a jump leads into its beginning");
	refuse(profile, 0, "", "it may not be changed");
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "short_%d", i / 2); /* each of them twice */
		refuse(profile, 0, name, "it is too short");
	}
	check_counts(
		profile,
		"0 functions counted.\n"
		"  not watched: short_0 (prog), short_1 (prog), short_2 (prog), short_3 (prog)\n"
		"               and 2 more (--json has all): it is too short\n"
		"  not watched: odd\\x1b[2J (prog): a jump leads into its beginning\n"
		"  not watched: a whole process: it may not be changed\n");
	for (int i = 0; i < 11; i++) {
		snprintf(name, sizeof(name), "reason_%d", i);
		refuse(profile, 0, "another", name);
	}
	text = text_of(profile);
	assert_non_null(strstr(text, "  not watched: another (prog): reason_6\n"
				     "  ... and for 4 more reasons; --json has all\n"));
	free(text);
	profile_free(profile);
}

static void check_json(const struct profile *profile, const char *expected)
{
	struct survey *survey = survey_new(profile);
	struct sink sink = SINK_MEMORY;

	info_print_json(profile, survey, &sink);
	assert_non_null(strstr(buf_str(&sink.pending), expected));
	sink_release(&sink);
	survey_free(survey);
}

TEST(info, json_of_counts)
{
	struct profile *profile = made_up_counts();

	refuse(profile, 1, "odd", "it is too short");
	profile_set_counter(profile, "probe_install_ns", 1500000);
	profile_set_counter(profile, "probe_stop_ns_max", 900000);
	profile_set_counter(profile, "probe_dropped", 4);
	check_json(profile,
		   "\"probes\":{\"counted\":3,\"functions\":1,\"call_sites\":2,\"processes\":2,"
		   "\"refused\":[{\"function\":\"odd\",\"module\":\"/opt/app/bin/prog\","
		   "\"reason\":\"it is too short\",\"pid\":2}],\"install_ns\":1500000,"
		   "\"stop_ns_max\":900000,\"dropped\":4,\"from_start\":true}");
	profile->probes.counts[4].flags = 0;
	check_json(profile, "\"dropped\":4,\"from_start\":false}");
	profile_free(profile);
	profile = made_up();
	check_json(profile,
		   "\"probes\":{\"counted\":0,\"functions\":0,\"call_sites\":0,\"processes\":0,"
		   "\"refused\":[],\"install_ns\":0,\"stop_ns_max\":0,\"dropped\":0,"
		   "\"from_start\":false}");
	profile_free(profile);
}

static void check_value(const char *name, uint64_t value, const char *expected)
{
	struct buf text = {0};

	append_counter_value(&text, name, value);
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
}

TEST(counter_words, units_follow_names)
{
	check_value("hold_ns_p99", 1500, "1.50 µs");
	check_value("held_ns_total", 2500000000, "2.50 s");
	check_value("cost_ppm", 12345, "1.23%");
	check_value("cost_ppm", 3063400, "306.34%");
	check_value("queue_bytes_max", 121656, "121.7 kB");
	check_value("stops", 1000, "1,000");
	check_value("fast_nsx", 7, "7");
}

static void check_words(const char *name, uint64_t value, const char *expected)
{
	struct counter_words words = counter_words(name);

	assert_string_equal(counter_words_of(&words, value), expected);
}

TEST(counter_words, fit_their_value)
{
	check_words("missed_ticks", 1, "sampling tick missed");
	check_words("missed_ticks", 2, "sampling ticks missed");
	check_words("blocked_looks", 1, "peek at a sleeping thread, without a stop");
	check_words("held_ns_total", 1, "all stops together");
	check_words("cost_ppm", 3063400,
		    "cost of all stops, of CPU time or of the time of the recording");
	check_words("refused_stops", 1, "sample of a running thread that could not be traced");
	check_words("probe_dropped", 1, "count that could not be taken");
	check_words("of_another_version", 1, "of_another_version");
}
