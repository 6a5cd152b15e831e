// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/export_text.h"
#include "tests/unit/made_profile.h"

/* What stands between two texts of the page; the copy is the caller's. */
static char *between(struct sink *sink, const char *from, const char *to)
{
	const char *page = buf_str(&sink->pending);
	const char *start = strstr(page, from);
	const char *end;

	assert_non_null(start);
	start += strlen(from);
	end = strstr(start, to);
	assert_non_null(end);
	return strndup(start, (size_t)(end - start));
}

static void assert_data(const struct profile *profile, const struct export_options *options,
			const char *expected)
{
	struct sink sink = export_made(EXPORT_HTML, profile, options);
	char *data = between(&sink, "<script id=\"data\" type=\"application/json\">", "</script>");

	assert_string_equal(data, expected);
	free(data);
	sink_release(&sink);
}

static void test_html__tree_in_drawing_order(void **state)
{
	struct made made = made_begin();
	struct profile *profile;

	(void)state;
	made_sample(&made, "main@m.c:7;light", 1);
	made_sample(&made, "main@m.c:7;libm.so!heavy;light", 3);
	made_sample(&made, "main@m.c:9", 2);
	profile = made_end(&made);
	assert_data(profile, NULL,
		    "{\"metric\":\"cpu\",\"unit\":\"ns\",\"functions\":["
		    "[\"prog\",null,0,-1,1],[\"main\",\"m.c\",1,0,0],[\"heavy\",null,0,1,0],"
		    "[\"light\",null,0,0,0]],\"modules\":[\"prog\",\"libm.so\"],"
		    "\"depth\":[0,1,2,3,2],\"label\":[0,1,2,3,3],"
		    "\"self\":[0,2000000,0,3000000,1000000]}\n");
	profile_free(profile);
}

static void test_html__several_threads_have_a_root(void **state)
{
	struct export_options split = {.threads = EXPORT_THREADS_SPLIT, .metric = METRIC_SAMPLES};
	struct made made = made_begin();
	struct profile *profile;

	(void)state;
	made_sample(&made, "main", 1);
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "main", 1)->nr = 3;
	profile = made_end(&made);
	assert_data(profile, &split,
		    "{\"metric\":\"samples\",\"unit\":\"samples\",\"functions\":["
		    "[\"all\",null,0,-1,1],[\"prog/worker (pid 100, tid 101)\",null,0,-1,1],"
		    "[\"main\",null,0,0,0],[\"prog (pid 100, tid 100)\",null,0,-1,1]],"
		    "\"modules\":[\"prog\"],"
		    "\"depth\":[0,1,2,1,2],\"label\":[0,1,2,3,2],\"self\":[0,0,3,0,1]}\n");
	profile_free(profile);
}

static void test_html__names_are_short_unless_asked(void **state)
{
	static const char rest[] = "],\"modules\":[\"prog\"],\"depth\":[0,1],\"label\":[0,1],"
				   "\"self\":[0,1000000]}\n";
	struct export_options full = {.names = EXPORT_NAMES_FULL};
	struct made made = made_begin();
	struct profile *profile;
	char expected[400];

	(void)state;
	made_sample(&made, "std::vector<int>::push(int)", 1);
	profile = made_end(&made);
	snprintf(expected, sizeof(expected),
		 "{\"metric\":\"cpu\",\"unit\":\"ns\",\"functions\":[[\"prog\",null,0,-1,1],"
		 "[\"std::vector::push\",null,0,0,0,\"std::vector\\u003cint>::push(int)\"]%s",
		 rest);
	assert_data(profile, NULL, expected);
	snprintf(expected, sizeof(expected),
		 "{\"metric\":\"cpu\",\"unit\":\"ns\",\"functions\":[[\"prog\",null,0,-1,1],"
		 "[\"std::vector\\u003cint>::push(int)\",null,0,0,0]%s",
		 rest);
	assert_data(profile, &full, expected);
	profile_free(profile);
}

static void test_html__hostile_names_stay_text(void **state)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;
	char *title;

	(void)state;
	profile_add_command_word(made.profile, "</title><script>alert(1)</script>\x1b[31m");
	made_sample(&made, "</script><img src=x onerror=alert(2)>", 1);
	profile = made_end(&made);
	sink = export_made(EXPORT_HTML, profile, NULL);
	title = between(&sink, "<title>", "</title>");
	assert_string_equal(title, "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[31m");
	assert_null(strstr(buf_str(&sink.pending), "<img"));
	assert_null(strstr(buf_str(&sink.pending), "<script>alert"));
	free(title);
	sink_release(&sink);
	profile_free(profile);
}

static void test_html__loads_nothing(void **state)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sink sink;

	(void)state;
	made_sample(&made, "main", 1);
	profile = made_end(&made);
	sink = export_made(EXPORT_HTML, profile, NULL);
	assert_non_null(strstr(buf_str(&sink.pending), "default-src 'none'"));
	assert_null(strstr(buf_str(&sink.pending), "http:"));
	assert_null(strstr(buf_str(&sink.pending), "https:"));
	assert_null(strstr(buf_str(&sink.pending), " src="));
	sink_release(&sink);
	profile_free(profile);
}

static void test_html__exact_calls(void **state)
{
	struct export_options samples = {.metric = METRIC_SAMPLES};
	struct profile *profile = made_counted();
	struct sink sink;

	(void)state;
	assert_data(profile, NULL,
		    "{\"metric\":\"cpu\",\"unit\":\"ns\",\"functions\":["
		    "[\"prog\",null,0,-1,1],[\"main\",\"m.c\",1,0,0],[\"work\",\"w.c\",1,0,0],"
		    "[\"rare\",\"r.c\",1,0,0]],\"modules\":[\"prog\"],"
		    "\"calls\":[null,null,10,2],\"perCall\":[null,null,500000,0],"
		    "\"depth\":[0,1,2],\"label\":[0,1,2],\"self\":[0,0,5000000]}\n");
	sink = export_made(EXPORT_HTML, profile, NULL);
	assert_non_null(strstr(buf_str(&sink.pending), "data-key=\"calls\">calls</th>"));
	sink_release(&sink);
	sink = export_made(EXPORT_HTML, profile, &samples);
	assert_non_null(strstr(buf_str(&sink.pending), "\"perCall\":[null,null,null,null],"));
	sink_release(&sink);
	profile->probes.nr_counts = 0;
	sink = export_made(EXPORT_HTML, profile, NULL);
	assert_null(strstr(buf_str(&sink.pending), "\"calls\":"));
	assert_null(strstr(buf_str(&sink.pending), "data-key=\"calls\""));
	sink_release(&sink);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_html__tree_in_drawing_order),
		cmocka_unit_test(test_html__several_threads_have_a_root),
		cmocka_unit_test(test_html__names_are_short_unless_asked),
		cmocka_unit_test(test_html__hostile_names_stay_text),
		cmocka_unit_test(test_html__loads_nothing),
		cmocka_unit_test(test_html__exact_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
