// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/export_text.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

static struct profile *two_threads(void)
{
	struct made made = made_begin();
	struct thread_id first = made.thread;
	struct sample *lost;

	made_sample(&made, "main@m.c:7;work@w.c:20+square@v.h:3;libm.so!sqrt", 1);
	made_thread(&made, 100, 101, "wor\nker");
	made_sample(&made, "??", 2);
	made.thread = first;
	made.time_ns = 1500000000;
	lost = made_sample(&made, "", 4);
	lost->kind = SAMPLE_UNATTRIBUTED;
	lost->nr = 0;
	return made_end(&made);
}

TEST(perf_script, blocks_in_time_order)
{
	struct profile *profile = two_threads();

	assert_export(EXPORT_PERF_SCRIPT, profile, NULL,
		      "prog 100/100 [000] 0.001000: 1000000 cpu:\n"
		      "\t               4 sqrt (/bin/libm.so)\n"
		      "\t               3 square (inlined)\n"
		      "\t               3 work (/bin/prog)\n"
		      "\t               2 main (/bin/prog)\n"
		      "\n"
		      "wor\\nker 100/101 [000] 0.003000: 2000000 cpu:\n"
		      "\t               6 [unknown] ([unknown])\n"
		      "\n"
		      "prog 100/100 [000] 1.504000: 4000000 cpu:\n"
		      "\t               0 [unattributed] ([unknown])\n"
		      "\n");
	profile_free(profile);
}

TEST(perf_script, merged_threads_count_from_one)
{
	struct export_options merged = {.threads = EXPORT_THREADS_MERGE, .metric = METRIC_SAMPLES};
	struct profile *profile = two_threads();

	assert_export(EXPORT_PERF_SCRIPT, profile, &merged,
		      "prog 1/1 [000] 0.001000: 1 samples:\n"
		      "\t               4 sqrt (/bin/libm.so)\n"
		      "\t               3 square (inlined)\n"
		      "\t               3 work (/bin/prog)\n"
		      "\t               2 main (/bin/prog)\n"
		      "\n"
		      "prog 1/1 [000] 0.003000: 1 samples:\n"
		      "\t               6 [unknown] ([unknown])\n"
		      "\n");
	profile_free(profile);
}

/*
 * What readers take for the fields of a line: speedscope and stackcollapse-perf.pl look for
 * /^(\S.+?)\s+(\d+)/ and, of a frame, for / \((\S*)\)/.
 */
TEST(perf_script, names_that_readers_would_misread)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "my prog (deleted)!main;..7", 1);
	made_thread(&made, 100, 101, "#io 7");
	made_sample(&made, "main", 1);
	made_thread(&made, 100, 102, "w");
	made_sample(&made, "main", 1);
	made_thread(&made, 100, 103, "");
	made_sample(&made, "main", 1);
	profile = made_end(&made);
	assert_export(EXPORT_PERF_SCRIPT, profile, NULL,
		      "prog 100/100 [000] 0.001000: 1000000 cpu:\n"
		      "\t               0 [7 frames left out] ([unknown])\n"
		      "\t               2 main (/bin/my\\x20prog\\x20(deleted))\n"
		      "\n"
		      "_io_7 100/101 [000] 0.002000: 1000000 cpu:\n"
		      "\t               2 main (/bin/prog)\n"
		      "\n"
		      "w_ 100/102 [000] 0.003000: 1000000 cpu:\n"
		      "\t               2 main (/bin/prog)\n"
		      "\n"
		      "__ 100/103 [000] 0.004000: 1000000 cpu:\n"
		      "\t               2 main (/bin/prog)\n"
		      "\n");
	profile_free(profile);
}
