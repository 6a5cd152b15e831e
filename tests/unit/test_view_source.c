// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/json.h"
#include "base/sink.h"
#include "calltree/source.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"
#include "view/source_choice.h"
#include "view/source_file.h"
#include "view/source_text.h"

static const char *const prog_c[] = {
	"#include \"v.h\"",
	"",
	"static int work(int x)",
	"{",
	"\treturn square(x); \033[31m",
	"}",
	"",
	"int main(void)",
	"{",
	"\treturn work(3);",
	"}",
};

static void add(struct made *made, unsigned int nr, const char *stack)
{
	made_sample(made, stack, 1)->nr = nr;
}

static struct profile *small_program(const char *inlined)
{
	struct made made = made_begin();
	char stack[200];

	snprintf(stack, sizeof(stack), "main@prog.c:10;work@prog.c:5+%s@v.h:1", inlined);
	add(&made, 80, stack);
	add(&made, 20, "main@prog.c:10;work@prog.c:5");
	return made_end(&made);
}

static const struct source_file *file_named(const struct source *source,
					    const struct profile *profile, const char *name)
{
	for (size_t i = 0; i < source->nr_files; i++)
		if (strcmp(profile_str(profile, source->files[i].file), name) == 0)
			return &source->files[i];
	return NULL;
}

static void print(const struct listing *listing, bool as_json, struct sink *sink)
{
	const struct view view = {.columns = 72, .names = NAME_SHORT};
	struct json json;

	if (!as_json) {
		listing_print_text(listing, &view, sink);
		return;
	}
	json_init(&json, sink);
	json_object_begin(&json);
	listing_write_json(listing, &json);
	json_object_end(&json);
	json_finish(&json);
}

/* `listing` tells what is asked for; the file is `name`. */
static void expect_with(const char *inlined, struct listing listing, const char *name, bool as_json,
			const char *expected)
{
	struct profile *profile = small_program(inlined);
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_SAMPLES);
	struct source *source;
	struct sink sink = SINK_MEMORY;

	source = source_new(weighed.weights);
	listing.source = source;
	listing.file = file_named(source, profile, name);
	print(&listing, as_json, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	source_free(source);
	weighed_free(&weighed);
	profile_free(profile);
}

static void expect(struct listing listing, const char *name, bool as_json, const char *expected)
{
	expect_with("square", listing, name, as_json, expected);
}

static const struct listing whole = {
	.lines = prog_c, .nr_lines = 11, .first = 1, .last = UINT32_MAX, .context = UINT32_MAX};

TEST(view, source_with_costs)
{
	/* Tabs become spaces, control bytes are shown, inlined code stands below its call. */
	expect(whole, "prog.c", false,
	       "prog.c: 20 samples self (20.0%), 100 samples total (100.0%)\n"
	       "    self     %    total     %  line\n"
	       "                                  1  #include \"v.h\"\n"
	       "                                  2\n"
	       "                                  3  static int work(int x)\n"
	       "                                  4  {\n"
	       "      20  20.0      100 100.0     5          return square(x); \\x1b[31m\n"
	       "                     80  80.0        ↳ inlined square\n"
	       "                                  6  }\n"
	       "                                  7\n"
	       "                                  8  int main(void)\n"
	       "                                  9  {\n"
	       "                    100 100.0    10          return work(3);\n"
	       "                                 11  }\n");
}

TEST(view, source_never_exceeds_its_width)
{
	struct listing line = whole;

	line.first = line.last = 5;
	expect_with("__gnu_cxx::__ops::_Iter_comp_iter::operator()", line, "prog.c", false,
		    "prog.c: 20 samples self (20.0%), 100 samples total (100.0%)\n"
		    "    self     %    total     %  line\n"
		    "      20  20.0      100 100.0     5          return square(x); \\x1b[31m\n"
		    "                     80  80.0        ↳ inlined __gnu_cx…iter::operator()\n");
}

TEST(view, source_of_one_function)
{
	struct listing function = whole;

	function.first = 8;
	function.last = 11;
	function.context = 1;
	expect(function, "prog.c", false,
	       "prog.c: 20 samples self (20.0%), 100 samples total (100.0%)\n"
	       "    self     %    total     %  line\n"
	       "                                  9  {\n"
	       "                    100 100.0    10          return work(3);\n"
	       "                                 11  }\n");
}

TEST(view, source_that_is_not_here)
{
	struct listing bare = {.first = 1, .last = UINT32_MAX, .context = UINT32_MAX};

	expect(bare, "prog.c", false,
	       "prog.c: 20 samples self (20.0%), 100 samples total (100.0%)\n"
	       "    self     %    total     %  line\n"
	       "      20  20.0      100 100.0     5\n"
	       "                     80  80.0        ↳ inlined square\n"
	       "                                  …\n"
	       "                    100 100.0    10\n");
	expect(bare, "v.h", true,
	       "{\"file\":\"v.h\",\"read_from\":\"\",\"lines\":[{\"line\":1,\"samples\":80,\"total_"
	       "samples\":80,"
	       "\"calls\":null,\"text\":\"\"}]}\n");
}

/* A file that is shorter than its line numbers say, as after an edit: both are shown. */
TEST(view, source_shorter_than_its_lines)
{
	struct listing cut = whole;

	cut.nr_lines = 2;
	cut.path = "src/prog.c";
	expect(cut, "prog.c", true,
	       "{\"file\":\"prog.c\",\"read_from\":\"src/prog.c\",\"lines\":["
	       "{\"line\":1,\"samples\":0,\"total_samples\":0,\"calls\":null,\"text\":\"#include "
	       "\\\"v.h\\\"\"},"
	       "{\"line\":2,\"samples\":0,\"total_samples\":0,\"calls\":null,\"text\":\"\"},"
	       "{\"line\":5,\"samples\":20,\"total_samples\":100,\"calls\":null,\"text\":\"\"},"
	       "{\"line\":10,\"samples\":0,\"total_samples\":100,\"calls\":null,\"text\":\"\"}]}"
	       "\n");
}

/*
 * work() and square() are counted where they begin, work's calls of square on their line, and in
 * a file without any sample `idle`. Functions are defined on line 1 of their file.
 */
static struct profile *counted_program(void)
{
	struct made made = made_begin();

	for (int i = 0; i < 50; i++)
		made_sample(&made, "main@prog.c:10;work@work.c:5;square@v.h:2", 8);
	for (int i = 0; i < 100; i++)
		made_sample(&made, "main@prog.c:10;work@work.c:5+half@v.h:3", 1);
	made_count(&made, "work@work.c:1", NULL, 300);
	made_count(&made, "square@v.h:1", NULL, 15360000);
	made_count(&made, "work@work.c:5", "square@v.h:1", 15360000);
	made_count(&made, "work@work.c:6", "square@v.h:1", 0);
	made_count(&made, "idle@idle.c:1", NULL, 0);
	return made_end(&made);
}

/* As text in a view, or without one as JSON. */
static void expect_listing(struct profile *profile, const char *name, const struct view *view,
			   struct listing listing, const char *expected)
{
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_CPU);
	struct source *source;
	struct sink sink = SINK_MEMORY;
	struct json json;

	source = source_new(weighed.weights);
	listing.source = source;
	listing.file = file_named(source, profile, name);
	assert_non_null(listing.file);
	json_init(&json, &sink);
	if (view) {
		listing_print_text(&listing, view, &sink);
	} else {
		json_object_begin(&json);
		listing_write_json(&listing, &json);
		json_object_end(&json);
		json_finish(&json);
	}
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	source_free(source);
	weighed_free(&weighed);
	profile_free(profile);
}

static void expect_counts(const char *name, const struct view *view, struct listing listing,
			  const char *expected)
{
	expect_listing(counted_program(), name, view, listing, expected);
}

static const char *const work_c[] = {
	"static int work(const int *numbers, size_t nr_numbers, int scale)",
	"{",
	"\tint sum = 0;",
	"",
	"\tsum += square(numbers[0]) / half(scale);",
	"\treturn scale ? sum : square(sum);",
	"}",
};

static const struct listing whole_work = {
	.lines = work_c, .nr_lines = 7, .first = 1, .last = UINT32_MAX, .context = UINT32_MAX};

TEST(view, source_with_counts)
{
	const struct view narrow = {.columns = 80}, wide = {.columns = 120};
	const struct view in_us = {.columns = 80, .unit = TIME_UNIT_US};

	expect_counts(
		"work.c", &narrow, whole_work,
		"work.c: 0 ns self (0.0%), 500 ms total (100.0%)\n"
		"      ncalls tottime ms     %     percall line\n"
		"         300                      1.67 ms    1  static int work(const int *numb…\n"
		"                                             2  {\n"
		"                                             3          int sum = 0;\n"
		"                                             4\n"
		"  15,360,000      500.0 100.0     32.6 ns    5          sum += square(numbers[0…\n"
		"                  100.0  20.0                   ↳ inlined half\n"
		"           0                                 6          return scale ? sum : sq…\n"
		"                                             7  }\n");
	expect_counts(
		"work.c", &wide, whole_work,
		"work.c: 0 ns self (0.0%), 500 ms total (100.0%)\n"
		"      ncalls    self ms     %  tottime ms     %     percall line\n"
		"         300                                        1.67 ms    1  static int "
		"work(const int *numbers, size_t nr_numbers…\n"
		"                                                               2  {\n"
		"                                                               3          int sum "
		"= 0;\n"
		"                                                               4\n"
		"  15,360,000                        500.0 100.0     32.6 ns    5          sum += "
		"square(numbers[0]) / half(scale);\n"
		"                                    100.0  20.0                   ↳ inlined half\n"
		"           0                                                   6          return "
		"scale ? sum : square(sum);\n"
		"                                                               7  }\n");
	expect_counts(
		"work.c", &in_us, whole_work,
		"work.c: 0 ns self (0.0%), 500 ms total (100.0%)\n"
		"      ncalls tottime µs     %  percall µs line\n"
		"         300                         1667    1  static int work(const int *numb…\n"
		"                                             2  {\n"
		"                                             3          int sum = 0;\n"
		"                                             4\n"
		"  15,360,000   500000.0 100.0      0.0326    5          sum += square(numbers[0…\n"
		"               100000.0  20.0                   ↳ inlined half\n"
		"           0                                 6          return scale ? sum : sq…\n"
		"                                             7  }\n");
}

/* Shares alone, so that something of the source is there; and no line is wider. */
TEST(view, source_in_40_columns)
{
	const struct view tiny = {.columns = 40};

	expect_counts("work.c", &tiny, whole_work,
		      "work.c\n"
		      "0 ns self (0.0%), 500 ms total (100.0%)\n"
		      "      ncalls total%  line\n"
		      "         300            1  static int w…\n"
		      "                        2  {\n"
		      "                        3          int …\n"
		      "                        4\n"
		      "  15,360,000  100.0     5          sum …\n"
		      "               20.0        ↳ inlined half\n"
		      "           0            6          retu…\n"
		      "                        7  }\n");
}

/* In a listing that is longer than a screen they are not found at a glance. */
TEST(view, source_names_the_hottest_lines)
{
	static const int samples_of_lines[] = {[3] = 1, [5] = 4, [7] = 2, [20] = 10, [28] = 3};
	const struct view view = {.columns = 80};
	const char *text[28];
	struct listing listing = {.lines = text,
				  .nr_lines = 28,
				  .first = 1,
				  .last = UINT32_MAX,
				  .context = UINT32_MAX};
	struct made made = made_begin();

	for (size_t i = 0; i < 28; i++)
		text[i] = "";
	for (size_t line = 0; line < sizeof(samples_of_lines) / sizeof(int); line++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "main@long.c:%zu", line);
		for (int i = 0; i < samples_of_lines[line]; i++)
			made_sample(&made, stack, 1);
	}
	expect_listing(made_end(&made), "long.c", &view, listing,
		       "long.c: 20.0 ms self (100.0%), 20.0 ms total (100.0%)\n"
		       "most self in line 20 (50.0%), 5 (20.0%), 28 (15.0%)\n"
		       " self ms     % total ms     %  line\n"
		       "                                  1\n"
		       "                                  2\n"
		       "     1.0   5.0      1.0   5.0     3\n"
		       "                                  4\n"
		       "     4.0  20.0      4.0  20.0     5\n"
		       "                                  6\n"
		       "     2.0  10.0      2.0  10.0     7\n"
		       "                                  8\n"
		       "                                  9\n"
		       "                                 10\n"
		       "                                 11\n"
		       "                                 12\n"
		       "                                 13\n"
		       "                                 14\n"
		       "                                 15\n"
		       "                                 16\n"
		       "                                 17\n"
		       "                                 18\n"
		       "                                 19\n"
		       "    10.0  50.0     10.0  50.0    20\n"
		       "                                 21\n"
		       "                                 22\n"
		       "                                 23\n"
		       "                                 24\n"
		       "                                 25\n"
		       "                                 26\n"
		       "                                 27\n"
		       "     3.0  15.0      3.0  15.0    28\n");
}

TEST(view, source_counted_without_samples)
{
	const struct view view = {.columns = 80};
	const struct listing bare = {.first = 1, .last = UINT32_MAX, .context = UINT32_MAX};

	expect_counts("idle.c", &view, bare,
		      "idle.c: 0 ns self (0.0%), 0 ns total (0.0%)\n"
		      "      ncalls tottime µs     %     percall line\n"
		      "           0                                 1\n");
}

TEST(view, source_counts_as_json)
{
	struct listing part = whole_work;

	part.context = 0;
	expect_counts("work.c", NULL, part,
		      "{\"file\":\"work.c\",\"read_from\":\"\",\"lines\":[{\"line\":1,\"self_ns\":"
		      "0,\"total_ns\":0,\"samples\":0,\"total_samples\":0,\"calls\":300,\"per_call_"
		      "ns\":1666666.6667,\"text\":\"static int work(const int *numbers, size_t "
		      "nr_numbers, int "
		      "scale)\"},{\"line\":5,\"self_ns\":0,\"total_ns\":500000000,\"samples\":0,"
		      "\"total_samples\":150,\"calls\":15360000,\"per_call_ns\":32.5521,\"text\":"
		      "\"\\u0009sum += square(numbers[0]) / "
		      "half(scale);\"},{\"line\":6,\"self_ns\":0,\"total_ns\":0,\"samples\":0,"
		      "\"total_samples\":0,\"calls\":0,\"per_call_ns\":null,\"text\":"
		      "\"\\u0009return scale ? sum : square(sum);\"}]}\n");
}

#define OWN    "tests/unit/test_view_source.c"
#define SYSTEM "/usr/include/stdlib.h"
#define GONE   "/nowhere/gone.c"

/* The names of the files chosen of a profile, which is freed. */
static void expect_choice(struct profile *profile, size_t limit, bool or_missing,
			  const char *expected)
{
	static const struct source_maps maps = {.nr = 0};
	const struct source_choice choice = {
		.maps = &maps, .limit = limit, .or_missing = or_missing};
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_SAMPLES);
	struct source *source;
	const struct source_file **chosen;
	struct buf text = {0};
	size_t nr;

	source = source_new(weighed.weights);
	chosen = source_choose(source, &choice, &nr);
	for (size_t i = 0; i < nr; i++)
		buf_printf(&text, "%s%s", i ? " " : "", profile_str(profile, chosen[i]->file));
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
	free(chosen);
	source_free(source);
	weighed_free(&weighed);
	profile_free(profile);
}

static struct profile *three_files(const char *own)
{
	struct made made = made_begin();

	add(&made, 50, "main@" OWN ":5;sum@" SYSTEM ":9");
	add(&made, 80, "main@" OWN ":5;gone@" GONE ":3");
	if (own)
		add(&made, 10, own);
	return made_end(&made);
}

TEST(view, source_that_can_be_changed_is_shown_first)
{
	expect_choice(three_files("main@" OWN ":7"), 3, false, OWN " " SYSTEM);
	expect_choice(three_files("main@" OWN ":7"), 3, true, OWN " " SYSTEM " " GONE);
	expect_choice(three_files("main@" OWN ":7"), 1, true, OWN);
	/* All work is done by others. */
	expect_choice(three_files(NULL), 3, false, OWN " " SYSTEM);
}

TEST(view, source_that_is_not_there_is_better_than_none)
{
	struct made made = made_begin();

	add(&made, 50, "main@/nowhere/else.c:5");
	add(&made, 80, "main@/nowhere/else.c:5;gone@" GONE ":3");
	expect_choice(made_end(&made), 3, false, GONE " /nowhere/else.c");
}
