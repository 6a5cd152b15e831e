// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "base/sink.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/weights.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"
#include "view/flat_fields.h"
#include "view/flat_text.h"
#include "view/summary.h"

/* A short run of a program with a long C++ name, a stripped library and a lost thread. */
static struct profile *short_run(void)
{
	struct made made = made_begin();

	profile_add_command_word(made.profile, "./prog");
	profile_add_command_word(made.profile, "--level=\033[31m9");
	for (int i = 0; i < 60; i++)
		made_sample(&made, "main@/src/prog.c:5;work@/src/prog.c:20+square@/src/v.h:3", 10);
	for (int i = 0; i < 30; i++)
		made_sample(&made,
			    "main@/src/prog.c:6;std::map<int, std::vector<int> >::operator[](int "
			    "const&)@/usr/include/bits/stl_map.h:501",
			    10);
	for (int i = 0; i < 6; i++)
		made_sample(&made, "libz.so.1!?", 10)->end = STACK_END_NO_CFI;
	made_sample(&made, "", 40)->kind = SAMPLE_UNATTRIBUTED;
	made.profile->samples[96].nr = 0;
	made_at_once(made.profile);
	return made_end(&made);
}

enum form {
	FORM_TEXT,
	FORM_JSON,
	FORM_CSV,
};

static void print(const struct weights *weights, enum dimension dimension, enum form form,
		  struct sink *sink)
{
	const struct view view = {.columns = 80, .names = NAME_SHORT};
	struct flat *flat = flat_new(weights, dimension);

	if (form == FORM_TEXT) {
		summary_print_heading(weights, &view, sink);
		flat_print_text(flat, &view, 4, sink);
		summary_print_notes(weights, &view, sink);
	} else if (form == FORM_JSON) {
		flat_print_json(flat, 1, sink);
	} else {
		flat_print_csv(flat, 2, sink);
	}
	flat_free(flat);
}

static void expect_of(struct profile *profile, enum metric metric, enum dimension dimension,
		      enum form form, const char *expected)
{
	struct weighed_fixture weighed = weighed_new(profile, NULL, metric);
	struct sink sink = SINK_MEMORY;

	print(weighed.weights, dimension, form, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	weighed_free(&weighed);
	profile_free(profile);
}

static void expect(enum metric metric, enum dimension dimension, enum form form,
		   const char *expected)
{
	expect_of(short_run(), metric, dimension, form, expected);
}

/* Three threads of one name, one of which is only in libraries, and two of other names. */
static struct profile *run_of_namesakes(void)
{
	struct made made = made_begin();

	made_sample(&made, "ld.so!_dl_init;construct@/src/node.cc:3", 1);
	made_sample(&made, "_start;main@/src/node.cc:7;libc.so.6!poll", 49);
	made_thread(&made, 100, 101, "node");
	made_sample(&made, "libc.so.6!clone3;libc.so.6!start_thread;worker@/src/pool.c:122", 40);
	made_thread(&made, 100, 102, "node");
	made_sample(&made, "libc.so.6!clone3;libc.so.6!start_thread;libuv.so.1!?", 30);
	made_thread(&made, 100, 103, "node");
	made_sample(&made, "libc.so.6!clone3;libc.so.6!read", 20);
	made_thread(&made, 100, 104, "gc");
	made_sample(&made, "libc.so.6!clone3;collect@/src/gc.c:3", 10);
	return made_end(&made);
}

TEST(flat, threads_of_one_name_have_their_start_function)
{
	const struct view view = {.columns = 80, .names = NAME_SHORT};
	struct profile *profile = run_of_namesakes();
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_CPU);
	struct flat *flat = flat_new(weighed.weights, BY_THREAD);
	struct sink sink = SINK_MEMORY;

	flat_print_text(flat, &view, 0, &sink);
	assert_string_equal(buf_str(&sink.pending),
			    "self ms    %    ± samples tid  thread                  pid  process\n"
			    "   50.0 33.3 35.0       2 100  prog                    100  prog\n"
			    "   40.0 26.7 33.1       1 101  node (worker, pool.c:1) 100  prog\n"
			    "   30.0 20.0 31.2       1 102  node ([libuv.so.1+0xb]) 100  prog\n"
			    "   20.0 13.3 29.4       1 103  node                    100  prog\n"
			    "   10.0  6.7 27.0       1 104  gc                      100  prog\n");
	sink_release(&sink);
	flat_print_csv(flat, 0, &sink);
	assert_non_null(strstr(buf_str(&sink.pending), "\n100,100,prog,main,prog,"));
	assert_non_null(strstr(buf_str(&sink.pending), "\n100,101,node,worker,prog,"));
	assert_non_null(strstr(buf_str(&sink.pending), "\n100,103,node,,prog,"));
	assert_non_null(strstr(buf_str(&sink.pending), "\n100,104,gc,collect,prog,"));
	sink_release(&sink);
	flat_free(flat);
	weighed_free(&weighed);
	profile_free(profile);
}

static struct profile *starved_run(uint64_t nr_missed)
{
	struct made made = made_begin();

	for (int i = 0; i < 70; i++)
		made_sample(&made, "main@/src/prog.c:5", 10);
	profile_set_counter(made.profile, "ticks", 700);
	profile_set_counter(made.profile, "missed_ticks", nr_missed);
	return made_end(&made);
}

TEST(view, many_missed_looks_are_said_first)
{
	expect_of(
		starved_run(1000), METRIC_CPU, BY_FUNCTION, FORM_TEXT,
		"700 ms of CPU time, 70 samples in 700 ms: prog\n"
		"self ms     %   ± total ms     %  function  location  module\n"
		"  700.0 100.0 2.6    700.0 100.0  main      prog.c:1  prog\n"
		"\n"
		"note: 1,000 of 1,700 ticks were missed: the CPUs were too busy; shares are less\n"
		"      precise than -F suggests\n"
		"note: there are only 70 samples: see the ± column, or record longer\n");
	expect_of(starved_run(299), METRIC_CPU, BY_FUNCTION, FORM_TEXT,
		  "700 ms of CPU time, 70 samples in 700 ms: prog\n"
		  "self ms     %   ± total ms     %  function  location  module\n"
		  "  700.0 100.0 2.6    700.0 100.0  main      prog.c:1  prog\n"
		  "\n"
		  "note: there are only 70 samples: see the ± column, or record longer or with a\n"
		  "      higher -F\n");
}

TEST(view, first_screen_of_80_columns)
{
	expect(METRIC_CPU, BY_FUNCTION, FORM_TEXT,
	       "1.00 s of CPU time, 96 samples in 1.00 s: ./prog --level=\\x1b[31m9\n"
	       "self ms    %   ± total ms    %  function              location     module\n"
	       "  600.0 60.0 9.2    600.0 60.0  square                v.h:1        prog\n"
	       "  300.0 30.0 8.8    300.0 30.0  std::map::operator[]  stl_map.h:1  prog\n"
	       "   60.0  6.0 4.9     60.0  6.0  [libz.so.1+0x8]\n"
	       "   40.0  4.0 4.1     40.0  4.0  [unattributed]\n"
	       "and 2 more with no self (-n 0 shows all)\n"
	       "\n"
	       "note: 4.0% of the time was used in bursts too short to sample, or after the last\n"
	       "      sample of a thread: it has no stack and is counted as [unattributed]\n"
	       "note: 6.0% of the time is in stacks that do not reach the root: no unwind\n"
	       "      information (build it with -fasynchronous-unwind-tables or\n"
	       "      -fno-omit-frame-pointer)\n"
	       "note: 6.0% of the time is in code without symbols, mostly in libz.so.1\n"
	       "note: there are only 96 samples: see the ± column, or record longer or with a\n"
	       "      higher -F\n");
}

static struct profile *blocking_run(void)
{
	static const char *const stacks[] = {
		"main@/src/server.c:5;read_request@/src/server.c:9;libc.so.6!read@read.c:26",
		"main@/src/server.c:5;read_request@/src/server.c:9;libc.so.6!read@read.c:26",
		"main@/src/server.c:6;read_config@/src/server.c:12;libc.so.6!read@read.c:26",
		"libc.so.6!clone3;work@/s.c:30+std::wait@/usr/include/w.h:9;libc.so.6!futex_wait",
		"main@/src/server.c:7;own_wait@/src/server.c:40",
		"main@/src/server.c:8;nap@/src/server.c:50;usleep;clock_nanosleep",
		"libc.so.6!clone3;libc.so.6!sigwait",
	};
	struct made made = made_begin();

	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
		struct sample *sample = made_sample(&made, stacks[i], 0);

		sample->kind = SAMPLE_BLOCKED;
		sample->blocked_ns = 100000000 - 1000000 * i;
		sample->syscall_nr = i < 3 ? 0 : 202;
	}
	return made_end(&made);
}

TEST(view, blocked_time_says_what_of_the_program_waits)
{
	expect_of(blocking_run(), METRIC_BLOCKED, BY_FUNCTION, FORM_CSV,
		  "function,file,line,module,inlined,self_ns,total_ns,self_samples,total_samples,"
		  "self_pct,total_pct,ci_pct,total_ci_pct,calls,per_call_ns,per_call_ci_ns,wait_"
		  "function,"
		  "wait_functions\n"
		  "read,read.c,1,/bin/libc.so.6,false,297000000,297000000,3,3,43.7408,43.7408,"
		  "29.6588,29.6588,,,,read_request,2\n"
		  "futex_wait,,,/bin/libc.so.6,false,97000000,97000000,1,1,14.2857,14.2857,"
		  "24.3767,24.3767,,,,work,1\n");
	expect_of(blocking_run(), METRIC_BLOCKED, BY_FUNCTION, FORM_TEXT,
		  "679 ms blocked, 7 samples in 0 ns: prog\n"
		  "self ms    %    ± total ms    %  function         wait function    module\n"
		  "  297.0 43.7 29.7    297.0 43.7  read             read_request +1  libc.so.6\n"
		  "   97.0 14.3 24.4     97.0 14.3  futex_wait       work             libc.so.6\n"
		  "   96.0 14.1 24.3     96.0 14.1  own_wait                          prog\n"
		  "   95.0 14.0 24.3     95.0 14.0  clock_nanosleep  nap              prog\n"
		  "and 9 more with 13.8% of self (-n 0 shows all)\n"
		  "\n"
		  "note: there are only 7 samples: see the ± column, or record longer or with a\n"
		  "      higher -F\n");
}

TEST(view, json_has_the_documented_members)
{
	expect(METRIC_CPU, BY_FUNCTION, FORM_JSON,
	       "{\"version\":1,\"metric\":\"cpu\",\"unit\":\"ns\",\"total_ns\":1000000000,"
	       "\"samples\":96,\"duration_ns\":1000000000,"
	       "\"command\":[\"./prog\",\"--level=\\u001b[31m9\"],\"rows\":["
	       "{\"function\":\"square\",\"file\":\"/src/v.h\",\"line\":1,"
	       "\"module\":\"/bin/prog\",\"inlined\":true,"
	       "\"self_ns\":600000000,\"total_ns\":600000000,"
	       "\"self_samples\":60,\"total_samples\":60,"
	       "\"self_pct\":60,\"total_pct\":60,\"ci_pct\":9.2482,\"total_ci_pct\":9.2482,"
	       "\"calls\":null,"
	       "\"per_call_ns\":null,\"per_call_ci_ns\":null}]}\n");
	/* Counts have no members in nanoseconds. */
	expect(METRIC_SAMPLES, BY_LINE, FORM_JSON,
	       "{\"version\":1,\"metric\":\"samples\",\"unit\":\"samples\","
	       "\"samples\":96,\"command\":[\"./prog\",\"--level=\\u001b[31m9\"],\"rows\":["
	       "{\"function\":\"square\",\"file\":\"/src/v.h\",\"line\":3,"
	       "\"module\":\"/bin/prog\",\"inlined\":true,"
	       "\"self_samples\":60,\"total_samples\":60,"
	       "\"self_pct\":62.5,\"total_pct\":62.5,\"ci_pct\":9.5083,\"total_ci_pct\":9.5083,"
	       "\"calls\":null}]}\n");
}

TEST(view, csv_has_the_same_fields)
{
	expect(METRIC_CPU, BY_THREAD, FORM_CSV,
	       "pid,tid,name,start_function,process,self_ns,total_ns,self_samples,total_samples,"
	       "self_pct,"
	       "total_pct,ci_pct,total_ci_pct,user_ns,system_ns,calls,per_call_ns,per_call_ci_ns\n"
	       "100,100,prog,main,prog,1000000000,1000000000,96,96,100.0000,100.0000,1.9238,1.9238,"
	       ",,,,"
	       "\n");
	/* Commas are quoted; what is not known is empty. */
	expect(METRIC_CPU, BY_FUNCTION, FORM_CSV,
	       "function,file,line,module,inlined,self_ns,total_ns,self_samples,total_samples,"
	       "self_pct,total_pct,ci_pct,total_ci_pct,calls,per_call_ns,per_call_ci_ns\n"
	       "square,/src/v.h,1,/bin/"
	       "prog,true,600000000,600000000,60,60,60.0000,60.0000,9.2482,9.2482,,,\n"
	       "\"std::map<int, std::vector<int> >::operator[](int const&)\","
	       "/usr/include/bits/stl_map.h,1,/bin/prog,false,300000000,300000000,30,30,"
	       "30.0000,30.0000,8.7752,8.7752,,,\n");
}

/* Lines stay lines, quotes are doubled, and nothing reaches a terminal as it was. */
TEST(view, csv_of_hostile_names)
{
	struct made made = made_begin();
	struct profile *profile;
	struct weighed_fixture weighed;
	struct sink sink = SINK_MEMORY;

	made_thread(&made, 101, 101, "\033[2J\n\"a\", b\xff");
	made_sample(&made, "", 1)->end = STACK_END_NOT_TAKEN;
	profile = made_end(&made);
	weighed = weighed_new(profile, NULL, METRIC_SAMPLES);
	print(weighed.weights, BY_THREAD, FORM_CSV, &sink);
	assert_string_equal(
		buf_str(&sink.pending),
		"pid,tid,name,start_function,process,self_samples,total_samples,self_pct,total_pct,"
		"ci_pct,total_ci_pct,calls\n"
		"101,101,\"\\x1b[2J\\n\"\"a\"\", b\\xff\",,"
		"\"\\x1b[2J\\n\"\"a\"\", b\\xff\",1,1,100.0000,100.0000,39.6725,39.6725,\n");
	buf_clear(&sink.pending);
	print(weighed.weights, BY_FUNCTION, FORM_CSV, &sink);
	assert_string_equal(buf_str(&sink.pending),
			    "function,file,line,module,inlined,self_samples,total_samples,"
			    "self_pct,total_pct,ci_pct,total_ci_pct,calls\n"
			    "[no stack],,,,false,1,1,100.0000,100.0000,39.6725,39.6725,\n");
	sink_release(&sink);
	weighed_free(&weighed);
	profile_free(profile);
}

/* Hot, slow, fast and idle functions; `square` was mostly inlined. */
static struct profile *counted_run(void)
{
	struct made made = made_begin();

	profile_add_command_word(made.profile, "./prog");
	for (int i = 0; i < 300; i++)
		made_sample(&made, "main@/src/prog.c:5;parse_expression@/src/parse.c:20", 10);
	for (int i = 0; i < 100; i++)
		made_sample(&made, "main@/src/prog.c:6;load_file@/src/load.c:9", 10);
	for (int i = 0; i < 80; i++)
		made_sample(&made, "main@/src/prog.c:7+square@/src/square.h:2", 10);
	for (int i = 0; i < 20; i++)
		made_sample(&made, "main@/src/prog.c:8;square@/src/square.h:2", 10);
	made_count(&made, "parse_expression@/src/parse.c:1", NULL, 15360000);
	made_count(&made, "load_file@/src/load.c:1", NULL, 3);
	made_count(&made, "square@/src/square.h:1", NULL, 4100);
	made_count(&made, "hash@/src/hash.c:1", NULL, 98304);
	made_count(&made, "usage@/src/prog.c:1", NULL, 0);
	return made_end(&made);
}

/* The table and its notes, sorted by `keys`, under a filter. */
static void expect_counts(struct profile *profile, const struct filter *filter, const char *keys,
			  const struct view *view, const char *expected)
{
	struct weighed_fixture weighed = weighed_new(profile, filter, METRIC_CPU);
	struct flat *flat;
	struct sink sink = SINK_MEMORY;

	flat = flat_new(weighed.weights, BY_FUNCTION);
	assert_int_equal(flat_sort(flat, keys, NULL), 0);
	flat_print_text(flat, view, 0, &sink);
	summary_print_notes(weighed.weights, view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	flat_free(flat);
	weighed_free(&weighed);
}

TEST(view, calls_fit_80_and_40_columns)
{
	const struct view narrow = {.columns = 80}, wide = {.columns = 120};
	const struct view in_ms = {.columns = 80, .unit = TIME_UNIT_MS};
	const struct view tiny = {.columns = 40};
	struct profile *profile = made_at_once(counted_run());

	expect_counts(profile, &(struct filter){0}, "calls", &tiny,
		      "self%      calls per call  function\n"
		      " 60.0 15,360,000   195 ns  pars…pression\n"
		      "  0.0     98,304  <194 ns  hash\n"
		      " 20.0      4,100  48.8 µs  square\n"
		      " 20.0          3   333 ms  load_file\n"
		      "  0.0          0           usage\n"
		      "  0.0                      main\n");
	expect_counts(profile, &(struct filter){0}, "calls", &narrow,
		      "self ms    %   ± total ms     %      calls per call    ±  function\n"
		      "   3000 60.0 4.3     3000  60.0 15,360,000   195 ns   14  parse_expression\n"
		      "      0  0.0 0.4        0   0.0     98,304  <194 ns       hash\n"
		      "   1000 20.0 3.5     1000  20.0      4,100  48.8 µs 21.3  square\n"
		      "   1000 20.0 3.5     1000  20.0          3   333 ms   58  load_file\n"
		      "      0  0.0 0.4        0   0.0          0                usage\n"
		      "      0  0.0 0.4     5000 100.0                           main\n");
	expect_counts(profile, &(struct filter){0}, "per-call", &wide,
		      "self ms    %   ± total ms     %      calls   calls/s per call    ±  "
		      "function          "
		      "location    module\n"
		      "   1000 20.0 3.5     1000  20.0          3         1   333 ms   58  "
		      "load_file         "
		      "load.c:1    prog\n"
		      "   1000 20.0 3.5     1000  20.0      4,100       820  48.8 µs 21.3  square  "
		      "          "
		      "square.h:1  prog\n"
		      "   3000 60.0 4.3     3000  60.0 15,360,000 3,072,000   195 ns   14  "
		      "parse_expression  "
		      "parse.c:1   prog\n"
		      "      0  0.0 0.4        0   0.0     98,304    19,661  <194 ns       hash    "
		      "          "
		      "hash.c:1    prog\n"
		      "      0  0.0 0.4     5000 100.0                                     main    "
		      "          "
		      "prog.c:1    prog\n"
		      "      0  0.0 0.4        0   0.0          0         0                usage   "
		      "          "
		      "prog.c:1    prog\n");
	expect_counts(profile, &(struct filter){0}, "self", &in_ms,
		      "self ms    %   ± total ms     %      calls per call ms  function\n"
		      " 3000.0 60.0 4.3   3000.0  60.0 15,360,000    0.000195  parse_expression\n"
		      " 1000.0 20.0 3.5   1000.0  20.0      4,100      0.0488  square\n"
		      " 1000.0 20.0 3.5   1000.0  20.0          3         333  load_file\n"
		      "    0.0  0.0 0.4   5000.0 100.0                         main\n"
		      "    0.0  0.0 0.4      0.0   0.0     98,304   <0.000194  hash\n"
		      "    0.0  0.0 0.4      0.0   0.0          0              usage\n");
	profile_free(profile);
}

TEST(view, notes_say_what_was_not_counted)
{
	const struct view view = {.columns = 80};
	struct profile *profile = counted_run();
	struct profile_refusal refusal = {.reason = profile_intern(profile, "too short")};

	profile_add_refusal(profile, &refusal);
	profile->probes.counts[0].from_ns = 250000000;
	expect_counts(
		profile, &(struct filter){.functions = {(const char *const[]){"square"}, 1}},
		"self", &view,
		"self ms     %   ± total ms     % calls per call   ±  function  module\n"
		"   1000 100.0 1.8     1000 100.0 4,100  48.8 µs 6.4  square    prog\n"
		"      0   0.0 1.8     1000 100.0                     main      prog\n"
		"\n"
		"note: calls were counted up to 250 ms later than sampled; time per call is that\n"
		"      of the time counted\n"
		"note: 1 function or call could not be counted: 'profc info' says why\n");
	expect_counts(
		profile, &(struct filter){.to_ns = 3500000000}, "self", &view,
		"self ms    %   ± total ms     %  function          location   module\n"
		"   3000 85.7 0.8     3000  85.7  parse_expression  parse.c:1  prog\n"
		"    500 14.3 0.8      500  14.3  load_file         load.c:1   prog\n"
		"      0  0.0 0.5     3500 100.0  main              prog.c:1   prog\n"
		"\n"
		"note: calls are counted for whole processes, with what they fork: of what these\n"
		"      filters select they are unknown\n"
		"note: 1 function or call could not be counted: 'profc info' says why\n");
	profile_free(profile);
}
