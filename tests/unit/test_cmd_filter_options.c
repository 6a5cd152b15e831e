// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "cmd/filter_options.h"
#include "tests/unit/unit.h"

struct values {
	int other;
	struct filter_options filter;
};

static const struct option_row rows[] = {FILTER_OPTION_ROWS(struct values, filter), OPTIONS_END};

TEST(filter_options, time_ranges)
{
	static const struct {
		const char *text;
		uint64_t from_ns, to_ns;
	} cases[] = {
		{"1..2.5", NS_PER_SEC, 2500 * NS_PER_MS},
		{"1s..2500ms", NS_PER_SEC, 2500 * NS_PER_MS},
		{"..500ms", 0, 500 * NS_PER_MS},
		{"2m..", 120 * NS_PER_SEC, 0},
		{"0..1us", 0, 1000},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter_options options = {.time = cases[i].text};
		struct filter filter;

		assert_int_equal(filter_options_apply(&options, &filter, NULL), 0);
		assert_int_equal(filter.from_ns, cases[i].from_ns);
		assert_int_equal(filter.to_ns, cases[i].to_ns);
	}
}

TEST(filter_options, ranges_before_a_trigger)
{
	static const struct {
		const char *text;
		uint64_t from_ns, to_ns;
		bool from_before, to_before;
	} cases[] = {
		{"-60s..-10s", 60 * NS_PER_SEC, 10 * NS_PER_SEC, true, true},
		{"-10..", 10 * NS_PER_SEC, 0, true, false},
		{"..-0", 0, 0, false, true},
		{"-10s..1ms", 10 * NS_PER_SEC, NS_PER_MS, true, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter_options options = {.time = cases[i].text};
		struct filter filter;

		assert_int_equal(filter_options_apply(&options, &filter, NULL), 0);
		assert_int_equal(filter.from_ns, cases[i].from_ns);
		assert_int_equal(filter.to_ns, cases[i].to_ns);
		assert_int_equal(filter.from_before_trigger, cases[i].from_before);
		assert_int_equal(filter.to_before_trigger, cases[i].to_before);
	}
}

static void expect_mark(const struct mark_name *mark, const char *text)
{
	assert_int_equal(mark->nr_bytes, strlen(text));
	if (*text)
		assert_memory_equal(mark->text, text, mark->nr_bytes);
}

/* The text of a mark may be anything, dots too. */
TEST(filter_options, ranges_between_marks)
{
	static const struct {
		const char *text, *from_mark, *to_mark;
		uint64_t from_ns, to_ns;
	} cases[] = {
		{"mark:a..mark:b c", "a", "b c", 0, 0},
		{"mark:a..", "a", "", 0, 0},
		{"..mark:b", "", "b", 0, 0},
		{"2s..mark:b", "", "b", 2 * NS_PER_SEC, 0},
		{"mark:a..1ms", "a", "", 0, NS_PER_MS},
		{"mark:a..b..mark:c..d", "a..b", "c..d", 0, 0},
		{"mark:wait....", "wait..", "", 0, 0},
		{"mark:mark:..mark:.", "mark:", ".", 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter_options options = {.time = cases[i].text};
		struct filter filter;

		assert_int_equal(filter_options_apply(&options, &filter, NULL), 0);
		expect_mark(&filter.from_mark, cases[i].from_mark);
		expect_mark(&filter.to_mark, cases[i].to_mark);
		assert_int_equal(filter.from_ns, cases[i].from_ns);
		assert_int_equal(filter.to_ns, cases[i].to_ns);
	}
}

TEST(filter_options, bad_time_ranges)
{
	static const char *const cases[] = {"",	       "5",	    "..",   "2..1",   "1..1",
					    "0..0",    "x..2",	    "1..y", "mark:a", "mark:..",
					    "..mark:", "a..mark:b", "-..",  "--1..",  "-mark:a..",
					    "-1..-2",  "-1..-1",    "-1"};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter_options options = {.time = cases[i]};
		struct filter filter;

		assert_int_equal(filter_options_apply(&options, &filter, NULL), ERR_INVALID);
	}
}

TEST(filter_options, rows_fill_the_filter)
{
	char text[] = "report --thread a,b --thread=c --process 1 --module libz "
		      "--function ^f$ --time 1..";
	char *argv[16];
	char *save = NULL;
	int argc = 0;
	int first_word;
	struct values values = {.other = 0};
	struct filter filter;

	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	assert_int_equal(options_parse(rows, &values, argc, argv, false, &first_word, NULL), 0);
	assert_int_equal(filter_options_apply(&values.filter, &filter, NULL), 0);
	assert_int_equal(filter.threads.nr, 2); /* a comma may be part of an expression */
	assert_string_equal(filter.threads.texts[0], "a,b");
	assert_string_equal(filter.threads.texts[1], "c");
	assert_string_equal(filter.processes.texts[0], "1");
	assert_string_equal(filter.modules.texts[0], "libz");
	assert_string_equal(filter.functions.texts[0], "^f$");
	assert_int_equal(filter.from_ns, NS_PER_SEC);
	options_release(rows, &values);
}

TEST(filter_options, moments)
{
	struct filter_options at_time = {.at = "1.5s"}, at_peak = {.at = "peak"};
	struct filter_options at_mark = {.at = "mark:warm up", .temporary_ns = 7};
	struct filter_options nothing = {.at = ""}, nonsense = {.at = "later"};
	struct filter filter;
	struct err err = ERR_INIT;

	assert_int_equal(filter_options_apply(&at_time, &filter, NULL), 0);
	assert_int_equal(filter.heap.at, FILTER_AT_TIME);
	assert_int_equal(filter.heap.at_ns, 1500 * NS_PER_MS);
	assert_int_equal(filter_options_apply(&at_peak, &filter, NULL), 0);
	assert_int_equal(filter.heap.at, FILTER_AT_PEAK);
	assert_int_equal(filter_fits(&filter, METRIC_ALLOC, &err), ERR_INVALID);
	assert_string_equal(err.what, "--at needs --metric live");
	assert_int_equal(filter_fits(&filter, METRIC_LIVE, NULL), 0);
	assert_int_equal(filter_options_apply(&at_mark, &filter, NULL), 0);
	assert_int_equal(filter.heap.at, FILTER_AT_MARK);
	expect_mark(&filter.heap.at_mark, "warm up");
	assert_int_equal(filter.heap.temporary_ns, 7);
	assert_int_equal(filter_fits(&filter, METRIC_LIVE, NULL), ERR_INVALID);
	assert_int_equal(filter_options_apply(&nothing, &filter, &err), ERR_INVALID);
	assert_string_equal(err.what, "--at: needs a time, 'peak' or 'mark:TEXT'");
	assert_int_equal(filter_options_apply(&nonsense, &filter, NULL), ERR_INVALID);
}
