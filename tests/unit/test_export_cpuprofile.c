// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/export_text.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

/* `place` is its url, line and column; `rest` what the node has beside its children. */
#define NODE(id, name, place, rest, children)                                                      \
	"{\"id\":" id ",\"callFrame\":{\"functionName\":\"" name "\",\"scriptId\":\"0\"," place    \
	"},\"hitCount\":" rest ",\"children\":[" children "]}"
#define NOWHERE		  "\"url\":\"\",\"lineNumber\":-1,\"columnNumber\":-1"
#define AT_A_C		  "\"url\":\"a.c\",\"lineNumber\":0,\"columnNumber\":0"
#define TICKS(ticks)	  ",\"positionTicks\":[" ticks "]"
#define TICK(line, ticks) "{\"line\":" line ",\"ticks\":" ticks "}"

/* clang-format off */
/* A sample lasts until the next, so the root ends the list; lines of one function are one node. */
TEST(cpuprofile, lines_of_a_function_are_ticks_of_its_node)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main@a.c:3;f@a.c:7", 1);
	made_sample(&made, "main@a.c:4;f@a.c:8", 2);
	made.time_ns = 9000000; /* asleep */
	made_sample(&made, "main@a.c:3;f@a.c:7", 1);
	made_sample(&made, "main@a.c:5", 1);
	profile = made_end(&made);
	assert_export(EXPORT_CPUPROFILE, profile, NULL,
		"{\"nodes\":["
		NODE("1", "(root)", NOWHERE, "0", "2") ","
		NODE("2", "main", AT_A_C, "1000" TICKS(TICK("5", "1000")), "3") ","
		NODE("3", "f", AT_A_C, "4000" TICKS(TICK("7", "2000") "," TICK("8", "2000")), "")
		"],\"samples\":[3,2,1],\"timeDeltas\":[0,4000,1000],\"startTime\":0,\"endTime\":5000}\n");
	profile_free(profile);
}

TEST(cpuprofile, threads_follow_one_another)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "main;f", 1);
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "main;g", 2);
	profile = made_end(&made);
	assert_export(EXPORT_CPUPROFILE, profile, NULL,
		"{\"nodes\":["
		NODE("1", "(root)", NOWHERE, "0", "2,5") ","
		NODE("2", "prog (pid 100, tid 100)", NOWHERE, "0", "3") ","
		NODE("3", "main", NOWHERE, "0", "4") ","
		NODE("4", "f", NOWHERE, "1000", "") ","
		NODE("5", "prog/worker (pid 100, tid 101)", NOWHERE, "0", "6") ","
		NODE("6", "main", NOWHERE, "0", "7") ","
		NODE("7", "g", NOWHERE, "2000", "")
		"],\"samples\":[4,7,1],\"timeDeltas\":[0,1000,2000],\"startTime\":0,\"endTime\":3000}\n");
	profile_free(profile);
}
/* clang-format on */
