// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/export_text.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

/* Does the document hold this text, which is a whole member of it? */
#define assert_has(sink, text)                                                                     \
	do {                                                                                       \
		if (!strstr(buf_str(&(sink)->pending), text))                                      \
			fail_msg("no %s in\n%s", text, buf_str(&(sink)->pending));                 \
	} while (0)

static struct profile *two_threads(void)
{
	struct made made = made_begin();

	made_sample(&made, "main@m.c:7;work@w.c:20+square@v.h:3", 1);
	made_sample(&made, "main@m.c:7", 2);
	made_sample(&made, "main@m.c:7;work@w.c:20+square@v.h:3", 3)->end = STACK_END_NO_CFI;
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "main@m.c:7;libm.so!sqrt", 4);
	return made_end(&made);
}

TEST(firefox, tables_are_shared)
{
	struct profile *profile = two_threads();
	struct sink sink = export_made(EXPORT_FIREFOX, profile, NULL);

	/* Rows: main, work, square; then, under [truncated …], the same again; main, sqrt. */
	assert_has(&sink, "\"stackTable\":{\"frame\":[0,1,2,3,0,1,2,4],"
			  "\"prefix\":[null,0,1,null,3,4,5,0],\"length\":8}");
	assert_has(&sink, "\"frameTable\":{\"address\":[2,3,3,-1,5],\"inlineDepth\":[0,0,1,0,0],"
			  "\"func\":[0,1,2,3,4],\"line\":[7,20,3,null,null],"
			  "\"category\":[1,1,1,1,1],");
	assert_has(&sink, "\"funcTable\":{\"name\":[1,2,3,4,5],"
			  "\"isJS\":[false,false,false,false,false],"
			  "\"relevantForJS\":[false,false,false,false,false],"
			  "\"resource\":[0,0,0,-1,1],\"source\":[0,1,2,null,null],"
			  "\"lineNumber\":[1,1,1,null,null],"
			  "\"columnNumber\":[null,null,null,null,null],\"length\":5}");
	assert_has(&sink, "\"resourceTable\":{\"lib\":[0,1],\"name\":[6,7],\"host\":[null,null],"
			  "\"type\":[1,1],\"length\":2}");
	assert_has(&sink, "\"sources\":{\"uuid\":[null,null,null],\"filename\":[8,9,10],"
			  "\"length\":3}");
	assert_has(&sink, "\"stringArray\":[\"\",\"main\",\"work\",\"square\","
			  "\"[truncated: no unwind information]\",\"sqrt\",\"prog\",\"libm.so\","
			  "\"m.c\",\"w.c\",\"v.h\"]");
	sink_release(&sink);
	profile_free(profile);
}

TEST(firefox, samples_are_per_thread)
{
	struct profile *profile = two_threads();
	struct sink sink = export_made(EXPORT_FIREFOX, profile, NULL);

	assert_has(&sink, "\"processName\":\"prog\",\"name\":\"prog\",\"isMainThread\":true,"
			  "\"pid\":\"100\",\"tid\":100,");
	assert_has(&sink, "\"samples\":{\"weightType\":\"tracing-ms\",\"stack\":[2,2,0,6],"
			  "\"time\":[0.000000,1.000000,3.000000,6.000000],"
			  "\"weight\":[0.000000,1.000000,2.000000,3.000000],"
			  "\"threadCPUDelta\":[0,1000000,2000000,3000000],\"length\":4}");
	assert_has(&sink, "\"processName\":\"prog\",\"name\":\"worker\",\"isMainThread\":false,"
			  "\"pid\":\"100\",\"tid\":101,");
	assert_has(&sink, "\"samples\":{\"weightType\":\"tracing-ms\",\"stack\":[7,7],"
			  "\"time\":[6.000000,10.000000],\"weight\":[0.000000,4.000000],"
			  "\"threadCPUDelta\":[0,4000000],\"length\":2}");
	sink_release(&sink);
	profile_free(profile);
}

TEST(firefox, counts_are_counts)
{
	struct export_options merged = {.metric = METRIC_SAMPLES, .threads = EXPORT_THREADS_MERGE};
	struct profile *profile = two_threads();
	struct sink sink = export_made(EXPORT_FIREFOX, profile, &merged);

	assert_has(&sink, "\"processName\":\"prog\",\"name\":\"prog\",\"isMainThread\":true,"
			  "\"pid\":\"1\",\"tid\":1,");
	assert_has(&sink, "\"samples\":{\"weightType\":\"samples\",\"stack\":[2,2,0,6,7],"
			  "\"time\":[0.000000,1.000000,3.000000,6.000000,10.000000],"
			  "\"weight\":[0,1,1,1,1],");
	sink_release(&sink);
	profile_free(profile);
}

/* They stood in every thread, and were shown as often. */
TEST(firefox, marks_are_markers_of_one_thread)
{
	static const char markers[] =
		"\"markers\":{\"data\":[{\"type\":\"mark\",\"text\":\"begin\"},"
		"{\"type\":\"mark\",\"text\":\"end \\\"1\\\"\"}],\"name\":[1,1],"
		"\"startTime\":[0.000500,2.000000],\"endTime\":[null,null],\"phase\":[0,0],"
		"\"category\":[0,0],\"length\":2}";
	struct profile *profile = two_threads();
	struct sink sink;
	const char *first;

	profile_add_mark(profile, 500, "begin");
	profile_add_mark(profile, 2000000, "end \"1\"");
	sink = export_made(EXPORT_FIREFOX, profile, NULL);
	assert_has(&sink, "\"markerSchema\":[{\"name\":\"mark\",");
	assert_has(&sink,
		   "\"fields\":[{\"key\":\"text\",\"label\":\"Text\",\"format\":\"string\"}]");
	assert_has(&sink, "\"stringArray\":[\"\",\"mark\",\"main\",");
	assert_has(&sink, "\"showMarkersInTimeline\":true");
	first = strstr(buf_str(&sink.pending), markers);
	assert_non_null(first);
	assert_null(strstr(first + 1, markers));
	assert_has(&sink, "\"showMarkersInTimeline\":false");
	assert_has(&sink, "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],");
	sink_release(&sink);
	profile_free(profile);
}

/* All of the recording, or what the filter leaves of it: a mark may come before any sample. */
TEST(firefox, range_is_that_of_the_recording)
{
	struct filter part = {.from_ns = 1500000, .to_ns = 4000000};
	struct export_options options = {.filter = &part};
	struct profile *profile = two_threads();
	struct sink whole, cut;

	profile->meta.duration_ns = 12000000;
	whole = export_made(EXPORT_FIREFOX, profile, NULL);
	cut = export_made(EXPORT_FIREFOX, profile, &options);
	assert_has(&whole, "\"profilingStartTime\":0,\"profilingEndTime\":12,");
	assert_has(&cut, "\"profilingStartTime\":1.5,\"profilingEndTime\":4,");
	sink_release(&whole);
	sink_release(&cut);
	profile->meta.duration_ns = 0; /* salvaged */
	whole = export_made(EXPORT_FIREFOX, profile, NULL);
	assert_has(&whole, "\"profilingStartTime\":0,\"profilingEndTime\":10,");
	sink_release(&whole);
	profile_free(profile);
}

TEST(firefox, without_marks_there_are_no_markers)
{
	struct profile *profile = two_threads();
	struct sink sink = export_made(EXPORT_FIREFOX, profile, NULL);

	assert_has(&sink, "\"markerSchema\":[]");
	assert_has(&sink, "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],");
	sink_release(&sink);
	profile_free(profile);
}
