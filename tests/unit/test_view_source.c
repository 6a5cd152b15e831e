// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/sink.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/source.h"
#include "calltree/weights.h"
#include "tests/unit/made_profile.h"
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
	const struct filter everything = {.from_ns = 0};
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection;
	struct weights *weights;
	struct source *source;
	struct sink sink = SINK_MEMORY;

	assert_int_equal(selection_new(expansion, &everything, &selection, NULL), 0);
	weights = weights_new(selection, METRIC_SAMPLES);
	source = source_new(weights);
	listing.source = source;
	listing.file = file_named(source, profile, name);
	print(&listing, as_json, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	source_free(source);
	weights_free(weights);
	selection_free(selection);
	expansion_free(expansion);
	profile_free(profile);
}

static void expect(struct listing listing, const char *name, bool as_json, const char *expected)
{
	expect_with("square", listing, name, as_json, expected);
}

static const struct listing whole = {
	.lines = prog_c, .nr_lines = 11, .first = 1, .last = UINT32_MAX, .context = UINT32_MAX};

static void test_view__source_with_costs(void **state)
{
	(void)state;
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

static void test_view__source_never_exceeds_its_width(void **state)
{
	struct listing line = whole;

	(void)state;
	line.first = line.last = 5;
	expect_with("__gnu_cxx::__ops::_Iter_comp_iter::operator()", line, "prog.c", false,
		    "prog.c: 20 samples self (20.0%), 100 samples total (100.0%)\n"
		    "    self     %    total     %  line\n"
		    "      20  20.0      100 100.0     5          return square(x); \\x1b[31m\n"
		    "                     80  80.0        ↳ inlined __gnu_cx…iter::operator()\n");
}

static void test_view__source_of_one_function(void **state)
{
	struct listing function = whole;

	(void)state;
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

static void test_view__source_that_is_not_here(void **state)
{
	struct listing bare = {.first = 1, .last = UINT32_MAX, .context = UINT32_MAX};

	(void)state;
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
	       "\"text\":\"\"}]}\n");
}

/* A file that is shorter than its line numbers say, as after an edit: both are shown. */
static void test_view__source_shorter_than_its_lines(void **state)
{
	struct listing cut = whole;

	(void)state;
	cut.nr_lines = 2;
	cut.path = "src/prog.c";
	expect(cut, "prog.c", true,
	       "{\"file\":\"prog.c\",\"read_from\":\"src/prog.c\",\"lines\":["
	       "{\"line\":1,\"samples\":0,\"total_samples\":0,\"text\":\"#include \\\"v.h\\\"\"},"
	       "{\"line\":2,\"samples\":0,\"total_samples\":0,\"text\":\"\"},"
	       "{\"line\":5,\"samples\":20,\"total_samples\":100,\"text\":\"\"},"
	       "{\"line\":10,\"samples\":0,\"total_samples\":100,\"text\":\"\"}]}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_view__source_with_costs),
		cmocka_unit_test(test_view__source_never_exceeds_its_width),
		cmocka_unit_test(test_view__source_of_one_function),
		cmocka_unit_test(test_view__source_that_is_not_here),
		cmocka_unit_test(test_view__source_shorter_than_its_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
