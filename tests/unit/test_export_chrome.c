// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/export_text.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

#define HEAD                                                                                       \
	"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"version\":\"profc " PROFC_VERSION            \
	"\",\"command\":\"prog\"},\"traceEvents\":["
#define NAMES(pid, process, tid, thread)                                                           \
	"\n{\"ph\":\"M\",\"pid\":" pid ",\"tid\":" tid                                             \
	",\"name\":\"process_name\",\"args\":{\"name\":\"" process "\"}},"                         \
	"\n{\"ph\":\"M\",\"pid\":" pid ",\"tid\":" tid                                             \
	",\"name\":\"thread_name\",\"args\":{\"name\":\"" thread "\"}}"
#define EVENT(kind, ts, pid, tid, name)                                                            \
	",\n{\"ph\":\"" kind "\",\"ts\":" ts ",\"pid\":" pid ",\"tid\":" tid ",\"name\":\"" name   \
	"\"}"
#define MARK(ts, text)                                                                             \
	",\n{\"ph\":\"i\",\"s\":\"g\",\"ts\":" ts                                                  \
	",\"pid\":100,\"tid\":100,\"cat\":\"mark\",\"name\":\"" text "\"}"
#define OPEN(ts, name)	EVENT("B", ts, "100", "100", name)
#define CLOSE(ts, name) EVENT("E", ts, "100", "100", name)

TEST(chrome, what_stays_on_the_stack_is_one_slice)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main;f", 1);
	made_sample(&made, "main;f;g", 1);
	made_sample(&made, "main;h", 1);
	made.time_ns = 5000000; /* asleep for 2 ms */
	made_sample(&made, "main;h", 1);
	profile = made_end(&made);
	assert_export(EXPORT_CHROME, profile, NULL,
		      HEAD NAMES("100", "prog", "100", "prog") OPEN("0.000", "main")
			      OPEN("0.000", "f") OPEN("1000.000", "g") CLOSE("2000.000", "g") CLOSE(
				      "2000.000", "f") OPEN("2000.000", "h") CLOSE("3000.000", "h")
				      CLOSE("3000.000", "main") OPEN("5000.000", "main")
					      OPEN("5000.000", "h") CLOSE("6000.000", "h")
						      CLOSE("6000.000", "main") "\n]}\n");
	profile_free(profile);
}

/* Moments are rounded, weights are not: less than a grain between two samples is no gap. */
TEST(chrome, rounded_moments_leave_no_gaps)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main", 2)->time_ns -= 1;
	made_sample(&made, "main", 2)->time_ns -= SAMPLE_TIME_GRAIN_NS - 1;
	made_sample(&made, "main", 2)->time_ns -= 500;
	made.time_ns += 2 * SAMPLE_TIME_GRAIN_NS;
	made_sample(&made, "main", 2);
	profile = made_end(&made);
	assert_export(EXPORT_CHROME, profile, NULL,
		      HEAD NAMES("100", "prog", "100", "prog") OPEN("0.000", "main")
			      CLOSE("6000.000", "main") OPEN("6002.048", "main")
				      CLOSE("8002.048", "main") "\n]}\n");
	profile_free(profile);
}

TEST(chrome, a_name_never_closes_and_opens_at_once)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main;q;r", 1);
	made_sample(&made, "main;r", 1);
	profile = made_end(&made);
	assert_export(EXPORT_CHROME, profile, NULL,
		      HEAD NAMES("100", "prog", "100",
				 "prog") OPEN("0.000", "main") OPEN("0.000", "q") OPEN("0.000", "r")
			      CLOSE("999.999", "r") CLOSE("999.999", "q") OPEN("1000.000", "r")
				      CLOSE("2000.000", "r") CLOSE("2000.000", "main") "\n]}\n");
	profile_free(profile);
}

TEST(chrome, merged_lanes_count_from_one)
{
	struct export_options merge = {.threads = EXPORT_THREADS_MERGE};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "f", 1);
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "f", 1);
	made_thread(&made, 200, 200, "a\"b");
	made_sample(&made, "g", 1);
	profile = made_end(&made);
	assert_export(
		EXPORT_CHROME, profile, &merge,
		HEAD NAMES("1", "prog", "1", "prog") "," NAMES("2", "a\\\"b", "2", "a\\\"b")
			EVENT("B", "0.000", "1", "1", "f") EVENT("E", "2000.000", "1", "1", "f")
				EVENT("B", "2000.000", "2", "2", "g")
					EVENT("E", "3000.000", "2", "2", "g") "\n]}\n");
	profile_free(profile);
}

/* Instants across all threads; of two recordings in one their order is that of time. */
TEST(chrome, marks_are_global_instants)
{
	struct filter second = {.from_ns = 1000000};
	struct export_options later = {.filter = &second};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "f", 2);
	profile_add_mark(made.profile, 1500001, "it \"is\" \x1b");
	profile_add_mark(made.profile, 500, "first");
	profile = made_end(&made);
	assert_export(EXPORT_CHROME, profile, NULL,
		      HEAD NAMES("100", "prog", "100", "prog") MARK("0.500", "first")
			      MARK("1500.001", "it \\\"is\\\" \\u001b") OPEN("0.000", "f")
				      CLOSE("2000.000", "f") "\n]}\n");
	assert_export(EXPORT_CHROME, profile, &later,
		      HEAD NAMES("100", "prog", "100", "prog")
			      MARK("1500.001", "it \\\"is\\\" \\u001b") OPEN("1000.000", "f")
				      CLOSE("2000.000", "f") "\n]}\n");
	profile_free(profile);
}
