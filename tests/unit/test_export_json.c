// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/export_text.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

static struct profile *two_threads(void)
{
	struct made made = made_begin();

	profile_add_command_word(made.profile, "./prog");
	profile_add_command_word(made.profile, "a \"b\"");
	made_sample(&made, "main@m.c:7;work@w.c:20+square@v.h:3", 1);
	made_sample(&made, "main@m.c:7;?", 2)->nr = 5;
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "", 4)->kind = SAMPLE_UNATTRIBUTED;
	profile_add_mark(made.profile, 1500, "half \"way\"");
	return made_end(&made);
}

#define HEAD                                                                                       \
	"{\"version\":1,\"creator\":\"profc " PROFC_VERSION "\","                                  \
	"\"command\":[\"./prog\",\"a \\\"b\\\"\"],\"start_realtime_ns\":0,"                        \
	"\"duration_ns\":7000000,"

#define MARKS "\"marks\":[{\"time_ns\":1500,\"text\":\"half \\\"way\\\"\"}],"

TEST(json, tables)
{
	struct profile *profile = two_threads();

	assert_export(EXPORT_JSON, profile, NULL,
		      HEAD
		      "\"metric\":\"cpu\",\"unit\":\"ns\",\"weight\":7000000," MARKS
		      "\"functions\":["
		      "{\"name\":\"main\",\"linkage_name\":null,\"file\":\"m.c\",\"line\":1,"
		      "\"module\":\"/bin/prog\"},"
		      "{\"name\":\"work\",\"linkage_name\":null,\"file\":\"w.c\",\"line\":1,"
		      "\"module\":\"/bin/prog\"},"
		      "{\"name\":\"square\",\"linkage_name\":null,\"file\":\"v.h\",\"line\":1,"
		      "\"module\":\"/bin/prog\"},"
		      "{\"name\":\"[prog+0x6]\",\"linkage_name\":null,\"file\":null,\"line\":null,"
		      "\"module\":\"/bin/prog\"},"
		      "{\"name\":\"[unattributed]\",\"linkage_name\":null,\"file\":null,"
		      "\"line\":null,\"module\":null}],"
		      "\"frames\":["
		      "{\"function\":0,\"file\":\"m.c\",\"line\":7,\"inlined\":false,"
		      "\"address\":\"0x4\"},"
		      "{\"function\":1,\"file\":\"w.c\",\"line\":20,\"inlined\":false,"
		      "\"address\":\"0x5\"},"
		      "{\"function\":2,\"file\":\"v.h\",\"line\":3,\"inlined\":true,"
		      "\"address\":\"0x5\"},"
		      "{\"function\":3,\"file\":null,\"line\":null,\"inlined\":false,"
		      "\"address\":\"0x6\"},"
		      "{\"function\":4,\"file\":null,\"line\":null,\"inlined\":false,"
		      "\"address\":null}],"
		      "\"stacks\":[{\"frame\":0,\"prefix\":null},{\"frame\":1,\"prefix\":0},"
		      "{\"frame\":2,\"prefix\":1},{\"frame\":3,\"prefix\":0},"
		      "{\"frame\":4,\"prefix\":null}],"
		      "\"threads\":["
		      "{\"process\":\"prog\",\"name\":\"prog\",\"pid\":100,\"tid\":100,"
		      "\"weight\":3000000,\"samples\":[[1000000,2,1000000,1],\n"
		      "[3000000,3,2000000,5]]},"
		      "{\"process\":\"prog\",\"name\":\"worker\",\"pid\":100,\"tid\":101,"
		      "\"weight\":4000000,\"samples\":[[7000000,4,4000000,1]]}]}\n");
	profile_free(profile);
}

TEST(json, merged_counts)
{
	struct export_options options = {
		.threads = EXPORT_THREADS_MERGE, .metric = METRIC_SAMPLES, .fold_inlines = true};
	struct profile *profile = two_threads();

	assert_export(EXPORT_JSON, profile, &options,
		      HEAD
		      "\"metric\":\"samples\",\"unit\":\"samples\",\"weight\":7," MARKS
		      "\"functions\":["
		      "{\"name\":\"main\",\"linkage_name\":null,\"file\":\"m.c\",\"line\":1,"
		      "\"module\":\"/bin/prog\"},"
		      "{\"name\":\"work\",\"linkage_name\":null,\"file\":\"w.c\",\"line\":1,"
		      "\"module\":\"/bin/prog\"},"
		      "{\"name\":\"[prog+0x6]\",\"linkage_name\":null,\"file\":null,\"line\":null,"
		      "\"module\":\"/bin/prog\"},"
		      "{\"name\":\"[unattributed]\",\"linkage_name\":null,\"file\":null,"
		      "\"line\":null,\"module\":null}],"
		      "\"frames\":["
		      "{\"function\":0,\"file\":\"m.c\",\"line\":7,\"inlined\":false,"
		      "\"address\":\"0x4\"},"
		      "{\"function\":1,\"file\":\"w.c\",\"line\":20,\"inlined\":false,"
		      "\"address\":\"0x5\"},"
		      "{\"function\":2,\"file\":null,\"line\":null,\"inlined\":false,"
		      "\"address\":\"0x6\"},"
		      "{\"function\":3,\"file\":null,\"line\":null,\"inlined\":false,"
		      "\"address\":null}],"
		      "\"stacks\":[{\"frame\":0,\"prefix\":null},{\"frame\":1,\"prefix\":0},"
		      "{\"frame\":2,\"prefix\":0},{\"frame\":3,\"prefix\":null}],"
		      "\"threads\":[{\"process\":\"prog\",\"name\":null,\"pid\":null,"
		      "\"tid\":null,\"weight\":7,\"samples\":[[1000000,1,1,1],\n"
		      "[3000000,2,5,5],\n[7000000,3,1,1]]}]}\n");
	profile_free(profile);
}

/* What stands for the frames beyond --max-depth is nowhere in the code. */
TEST(json, frames_left_out_have_no_address)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;

	made_sample(&made, "main;..7;work", 1);
	profile = made_end(&made);
	sink = export_made(EXPORT_JSON, profile, NULL);
	assert_non_null(strstr(buf_str(&sink.pending), "\"name\":\"[7 frames left out]\""));
	assert_non_null(strstr(buf_str(&sink.pending),
			       "\"inlined\":false,\"address\":\"0x2\"},"
			       "{\"function\":1,\"file\":null,\"line\":null,"
			       "\"inlined\":false,\"address\":null},"
			       "{\"function\":2"));
	sink_release(&sink);
	profile_free(profile);
}

/* With functions that are in no sample; of a selection without known counts there are none. */
TEST(json, exact_calls)
{
	const struct filter of_thread = {.threads = {(const char *const[]){"prog"}, 1}};
	struct export_options options = {.filter = &of_thread};
	struct profile *profile = made_counted();
	struct sink sink = export_made(EXPORT_JSON, profile, NULL);

	assert_non_null(
		strstr(buf_str(&sink.pending),
		       "\"functions\":["
		       "{\"name\":\"main\",\"linkage_name\":null,\"file\":\"m.c\",\"line\":1,"
		       "\"module\":\"/bin/prog\",\"calls\":null},"
		       "{\"name\":\"work\",\"linkage_name\":null,\"file\":\"w.c\",\"line\":1,"
		       "\"module\":\"/bin/prog\",\"calls\":10},"
		       "{\"name\":\"rare\",\"linkage_name\":null,\"file\":\"r.c\",\"line\":1,"
		       "\"module\":\"/bin/prog\",\"calls\":2}],"));
	assert_non_null(strstr(buf_str(&sink.pending),
			       "\"calls\":[{\"pid\":100,\"caller\":0,\"file\":\"m.c\",\"line\":7,"
			       "\"callee\":1,\"calls\":6},"
			       "{\"pid\":100,\"caller\":0,\"file\":\"m.c\",\"line\":8,"
			       "\"callee\":null,\"calls\":3}],\"threads\""));
	sink_release(&sink);
	sink = export_made(EXPORT_JSON, profile, &options);
	assert_null(strstr(buf_str(&sink.pending), "calls"));
	assert_null(strstr(buf_str(&sink.pending), "rare"));
	sink_release(&sink);
	profile_free(profile);
}
