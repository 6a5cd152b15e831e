// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/export_text.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

#define HEAD                                                                                       \
	"# callgrind format\nversion: 1\ncreator: profc " PROFC_VERSION "\ncmd: prog\n"            \
	"positions: line\n"

TEST(callgrind, own_lines_and_calls)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main@m.c:7", 1);
	made_sample(&made, "main@m.c:7;libm.so!sqrt", 2);
	made_sample(&made, "main@m.c:8;libm.so!sqrt", 4);
	made_sample(&made, "main@m.c:8", 8);
	profile = made_end(&made);
	assert_export(EXPORT_CALLGRIND, profile, NULL,
		      HEAD "event: cpu : time in ns\nevents: cpu\nsummary: 15000000\n"
			   "\n"
			   "ob=(1) /bin/prog\n"
			   "fl=(1) m.c\n"
			   "fn=(1) main\n"
			   "7 1000000\n"
			   "8 8000000\n"
			   "cob=(2) /bin/libm.so\n"
			   "cfi=(2) ?"
			   "?"
			   "?\n"
			   "cfn=(2) sqrt\n"
			   "calls=1 0\n"
			   "7 2000000\n"
			   "cob=(2)\n"
			   "cfi=(2)\n"
			   "cfn=(2)\n"
			   "calls=1 0\n"
			   "8 4000000\n"
			   "\n"
			   "ob=(2)\n"
			   "fl=(2)\n"
			   "fn=(2)\n"
			   "0 6000000\n"
			   "\n"
			   "ob=(3) ?"
			   "?"
			   "?\n"
			   "fl=(2)\n"
			   "fn=(3) [prog]\n"
			   "cob=(1)\n"
			   "cfi=(1)\n"
			   "cfn=(1)\n"
			   "calls=1 1\n"
			   "0 15000000\n"
			   "\n"
			   "totals: 15000000\n");
	profile_free(profile);
}

/* f calls g calls f: the calls to each must add up to each stack once. */
TEST(callgrind, recursion_counts_once)
{
	struct export_options counts = {.metric = METRIC_SAMPLES};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "f@a.c:1;g@a.c:2;f@a.c:3;h@a.c:4", 1);
	made_sample(&made, "f@a.c:1;f@a.c:1", 1);
	profile = made_end(&made);
	assert_export(EXPORT_CALLGRIND, profile, &counts,
		      HEAD "event: samples : number of samples\nevents: samples\nsummary: 2\n"
			   "\n"
			   "ob=(1) /bin/prog\n"
			   "fl=(1) a.c\n"
			   "fn=(1) f\n"
			   "1 1\n"
			   "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=1 1\n"
			   "1 0\n" /* borne by the call from the process */
			   "cob=(1)\ncfi=(1)\ncfn=(2) g\ncalls=1 1\n"
			   "1 1\n"
			   "cob=(1)\ncfi=(1)\ncfn=(3) h\ncalls=1 1\n"
			   "3 1\n"
			   "\n"
			   "ob=(1)\nfl=(1)\nfn=(2)\n"
			   "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=1 1\n"
			   "2 0\n"
			   "\n"
			   "ob=(1)\nfl=(1)\nfn=(3)\n"
			   "4 1\n"
			   "\n"
			   "ob=(2) ?"
			   "?"
			   "?\nfl=(2) ?"
			   "?"
			   "?\nfn=(4) [prog]\n"
			   "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=1 1\n"
			   "0 2\n"
			   "\n"
			   "totals: 2\n");
	profile_free(profile);
}

/* Lines of an included file cost the function that includes it. */
TEST(callgrind, lines_of_other_files_stay_with_the_function)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "f@a.c:1", 1);
	made_sample(&made, "f@a.c:2", 2);
	made_sample(&made, "f@a.c:3", 4);
	profile = made_end(&made);
	profile->symbols.locations[1].file = profile_intern(profile, "table.inc");
	assert_export(EXPORT_CALLGRIND, profile, NULL,
		      HEAD "event: cpu : time in ns\nevents: cpu\nsummary: 7000000\n"
			   "\nob=(1) /bin/prog\nfl=(1) a.c\nfn=(1) f\n"
			   "1 1000000\n"
			   "fi=(2) table.inc\n2 2000000\n"
			   "fe=(1)\n3 4000000\n"
			   "\nob=(2) ?"
			   "?"
			   "?\nfl=(3) ?"
			   "?"
			   "?\nfn=(2) [prog]\n"
			   "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=1 1\n0 7000000\n"
			   "\ntotals: 7000000\n");
	profile_free(profile);
}

TEST(callgrind, threads_are_parts)
{
	struct export_options split = {.threads = EXPORT_THREADS_SPLIT};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "f@a.c:1", 1);
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "f@a.c:2", 2);
	profile = made_end(&made);
	assert_export(EXPORT_CALLGRIND, profile, &split,
		      HEAD "event: cpu : time in ns\nevents: cpu\n"
			   "pid: 100\npart: 1\nthread: 100\n"
			   "desc: Thread: prog (pid 100, tid 100)\n"
			   "summary: 1000000\n"
			   "\nob=(1) /bin/prog\nfl=(1) a.c\nfn=(1) f\n1 1000000\n"
			   "\nob=(2) ?"
			   "?"
			   "?\nfl=(2) ?"
			   "?"
			   "?\nfn=(2) [prog]\n"
			   "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=1 1\n0 1000000\n"
			   "\ntotals: 1000000\n"
			   "\npid: 100\npart: 1\nthread: 101\n"
			   "desc: Thread: prog/worker (pid 100, tid 101)\n"
			   "summary: 2000000\n"
			   "\nob=(1)\nfl=(1)\nfn=(1)\n2 2000000\n"
			   "\nob=(2)\nfl=(2)\nfn=(3) [prog]\n"
			   "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=1 1\n0 2000000\n"
			   "\ntotals: 2000000\n");
	profile_free(profile);
}

TEST(callgrind, marks_are_descriptions)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;

	made_sample(&made, "main@m.c:7", 1);
	profile_add_mark(made.profile, 1250000999, "half\nway");
	profile = made_end(&made);
	sink = export_made(EXPORT_CALLGRIND, profile, NULL);
	assert_non_null(
		strstr(buf_str(&sink.pending),
		       "cmd: prog\ndesc: mark at 1.250000s: half\\nway\npositions: line\n"));
	sink_release(&sink);
	profile_free(profile);
}

/* A call that was counted has its number; what no caller is known of comes from one in brackets. */
TEST(callgrind, exact_calls)
{
	struct profile *profile = made_counted();

	assert_export(EXPORT_CALLGRIND, profile, NULL,
		      HEAD "event: cpu : time in ns\nevents: cpu\nsummary: 5000000\n"
			   "\nob=(1) /bin/prog\nfl=(1) m.c\nfn=(1) main\n"
			   "cob=(1)\ncfi=(2) w.c\ncfn=(2) work\ncalls=6 1\n7 5000000\n"
			   "\nob=(1)\nfl=(2)\nfn=(2)\n20 5000000\n"
			   "\nob=(2) ?"
			   "?"
			   "?\nfl=(3) ?"
			   "?"
			   "?\nfn=(3) [prog]\n"
			   "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=1 1\n0 5000000\n"
			   "\nob=(2)\nfl=(3)\nfn=(4) [unknown caller]\n"
			   "cob=(1)\ncfi=(2)\ncfn=(2)\ncalls=4 1\n0 0\n"
			   "cob=(1)\ncfi=(4) r.c\ncfn=(5) rare\ncalls=2 1\n0 0\n"
			   "\ntotals: 5000000\n");
	profile_free(profile);
}

/* A call that was only seen in a sample is one of those counted at the beginning of the callee. */
TEST(callgrind, calls_that_were_only_sampled_are_among_the_counted)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;

	made_sample(&made, "main@m.c:7;work@w.c:20", 1);
	made_sample(&made, "main@m.c:9;work@w.c:20", 1);
	made_count(&made, "work@w.c:1", NULL, 10);
	made_count(&made, "main@m.c:1", NULL, 1);
	profile = made_end(&made);
	sink = export_made(EXPORT_CALLGRIND, profile, NULL);
	assert_non_null(strstr(buf_str(&sink.pending), "cfn=(2) work\ncalls=1 1\n7 1000000\n"));
	assert_non_null(strstr(buf_str(&sink.pending), "cfn=(2)\ncalls=1 1\n9 1000000\n"));
	assert_non_null(strstr(buf_str(&sink.pending), "[unknown caller]\ncob=(1)\ncfi=(2)\n"
						       "cfn=(2)\ncalls=8 1\n0 0\n\ntotals"));
	sink_release(&sink);
	profile_free(profile);
}

/* Counts are of no thread: none are in the parts of threads. */
TEST(callgrind, parts_of_threads_have_no_exact_calls)
{
	struct export_options split = {.threads = EXPORT_THREADS_SPLIT};
	struct profile *profile = made_counted();
	struct sink sink = export_made(EXPORT_CALLGRIND, profile, &split);

	assert_non_null(strstr(buf_str(&sink.pending), "cfn=(2) work\ncalls=1 1\n7 5000000\n"));
	assert_null(strstr(buf_str(&sink.pending), "rare"));
	sink_release(&sink);
	profile_free(profile);
}
