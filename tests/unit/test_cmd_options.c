// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "base/duration_text.h"
#include "base/err.h"
#include "cmd/options.h"
#include "tests/unit/unit.h"

struct values {
	bool quiet, children;
	const char *output;
	struct option_list pids, files;
	uint64_t frequency, duration_ns;
	double overhead;
	int by, mode;
};

static const char *const by_names[] = {"function", "line", "module", NULL};

static const struct option_row rows[] = {
	{.type = OPTION_SECTION, .name = "Sampling", .help = ""},
	{.type = OPTION_UINT,
	 .short_name = 'F',
	 .name = "frequency",
	 .argument = "HZ",
	 .offset = offsetof(struct values, frequency),
	 .help = "Look this often a second. [500]",
	 .min = 1,
	 .max = 10000},
	{.type = OPTION_DOUBLE,
	 .name = "max-overhead",
	 .argument = "PCT",
	 .offset = offsetof(struct values, overhead),
	 .help = "At most this share.",
	 .max = 100},
	{.type = OPTION_DURATION,
	 .short_name = 'd',
	 .name = "duration",
	 .argument = "TIME",
	 .offset = offsetof(struct values, duration_ns),
	 .help = "How long."},
	{.type = OPTION_LIST,
	 .short_name = 'p',
	 .name = "pid",
	 .argument = "PID",
	 .offset = offsetof(struct values, pids),
	 .help = "Which.",
	 .commas = true},
	{.type = OPTION_LIST,
	 .name = "file",
	 .argument = "FILE",
	 .offset = offsetof(struct values, files),
	 .help = "Files."},
	{.type = OPTION_FILE,
	 .short_name = 'o',
	 .name = "output",
	 .argument = "FILE",
	 .offset = offsetof(struct values, output),
	 .help = "Where to."},
	{.type = OPTION_CHOICE,
	 .name = "by",
	 .argument = "WHAT",
	 .offset = offsetof(struct values, by),
	 .help = "Rows.",
	 .choices = by_names},
	{.type = OPTION_FLAG,
	 .short_name = 'q',
	 .name = "quiet",
	 .offset = offsetof(struct values, quiet),
	 .help = "Say less."},
	{.type = OPTION_FLAG,
	 .name = "children",
	 .offset = offsetof(struct values, children),
	 .help = "Follow."},
	{.type = OPTION_FLAG,
	 .name = "no-children",
	 .offset = offsetof(struct values, children),
	 .help = "Do not follow.",
	 .negated = true},
	{.type = OPTION_FLAG,
	 .name = "tree",
	 .offset = offsetof(struct values, mode),
	 .help = "As a tree.",
	 .as_choice = true,
	 .value = 7},
	{.type = OPTION_FLAG,
	 .name = "crosscheck",
	 .offset = offsetof(struct values, quiet),
	 .help = "For developers.",
	 .hidden = true},
	OPTIONS_END,
};

#define MAX_WORDS 16

/* A command line and what became of it. */
struct parsed {
	char *argv[MAX_WORDS];
	int argc;
	int first_word;
	struct values values;
	struct err err;
};

static int parse(struct parsed *parsed, bool stop_at_word, const char *line)
{
	static char copy[512];
	char *rest = copy;

	*parsed = (struct parsed){.first_word = -1};
	snprintf(copy, sizeof(copy), "%s", line);
	while (*rest) {
		parsed->argv[parsed->argc++] = rest;
		rest += strcspn(rest, " ");
		if (*rest)
			*rest++ = '\0';
	}
	return options_parse(rows, &parsed->values, parsed->argc, parsed->argv, stop_at_word,
			     &parsed->first_word, &parsed->err);
}

static void release(struct parsed *parsed)
{
	options_release(rows, &parsed->values);
}

TEST(options, long_short_and_clustered_forms)
{
	static const char *const lines[] = {
		"record --frequency 99 --output x --quiet",
		"record --frequency=99 --output=x --quiet",
		"record -F 99 -o x -q",
		"record -F99 -qox",
		"record --freq 99 --out x --qui",
		"record -q x --frequency=1 -F99 -o x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct parsed parsed;

		assert_int_equal(parse(&parsed, false, lines[i]), 0);
		assert_int_equal(parsed.values.frequency, 99);
		assert_string_equal(parsed.values.output, "x");
		assert_true(parsed.values.quiet);
		release(&parsed);
	}
}

TEST(options, words_move_to_the_end_in_order)
{
	struct parsed parsed;

	assert_int_equal(parse(&parsed, false, "annotate a.c -q b.c -o out - -- -x"), 0);
	assert_int_equal(parsed.argc, 9);
	assert_int_equal(parsed.first_word, 5);
	assert_string_equal(parsed.argv[5], "a.c");
	assert_string_equal(parsed.argv[6], "b.c");
	assert_string_equal(parsed.argv[7], "-");
	assert_string_equal(parsed.argv[8], "-x");
}

TEST(options, command_keeps_its_own_options)
{
	struct parsed parsed;

	assert_int_equal(parse(&parsed, true, "record -q prog -o out --help"), 0);
	assert_int_equal(parsed.first_word, 2);
	assert_string_equal(parsed.argv[2], "prog");
	assert_null(parsed.values.output);

	assert_int_equal(parse(&parsed, true, "record -q -- -prog -o"), 0);
	assert_int_equal(parsed.first_word, 3);
	assert_string_equal(parsed.argv[3], "-prog");

	assert_int_equal(parse(&parsed, true, "record -q"), 0);
	assert_int_equal(parsed.first_word, 2);
}

TEST(options, lists_repeat_and_split)
{
	struct parsed parsed;

	assert_int_equal(parse(&parsed, false, "x -p 12,34 --pid=56 --file a,b --file c"), 0);
	assert_int_equal(parsed.values.pids.nr, 3);
	assert_string_equal(parsed.values.pids.values[0], "12");
	assert_string_equal(parsed.values.pids.values[1], "34");
	assert_string_equal(parsed.values.pids.values[2], "56");
	assert_int_equal(parsed.values.files.nr, 2);
	assert_string_equal(parsed.values.files.values[0], "a,b");
	assert_string_equal(parsed.values.files.values[1], "c");
	release(&parsed);
	assert_int_equal(parsed.values.pids.nr, 0);
	assert_null(parsed.values.pids.values);
}

TEST(options, flags_choices_and_doubles)
{
	struct parsed parsed;

	assert_int_equal(parse(&parsed, false, "x --children --by=module --tree --max-overhead .5"),
			 0);
	assert_true(parsed.values.children);
	assert_int_equal(parsed.values.by, 2);
	assert_int_equal(parsed.values.mode, 7);
	assert_true(parsed.values.overhead > 0.499 && parsed.values.overhead < 0.501);

	assert_int_equal(parse(&parsed, false, "x --children --no-children"), 0);
	assert_false(parsed.values.children);
}

struct refusal {
	const char *line;
	const char *what;
	const char *hint;
};

TEST(options, refuse_with_reason_and_hint)
{
	static const struct refusal refusals[] = {
		{"x --frequncy 9", "unknown option '--frequncy'", "did you mean '--frequency'?"},
		{"x --hlep", "unknown option '--hlep'", "did you mean '--help'?"},
		{"x --zzzzzz", "unknown option '--zzzzzz'", ""},
		{"x -qz", "unknown option '-z'", ""},
		{"x --cross", "unknown option '--cross'", ""},
		{"x --f 1", "ambiguous option '--f'", "could be --frequency, --file"},
		{"x --quiet=1", "option '--quiet' takes no value", ""},
		{"x --output", "option '--output' needs a value (FILE)", ""},
		{"x --output=", "--output '' is not a file name", ""},
		{"x -F", "option '-F' needs a value (HZ)", ""},
		{"x -F 0", "invalid value '0' for -F: must be between 1 and 10000", ""},
		{"x -F -5", "invalid value '-5' for -F: not a whole number", ""},
		{"x -F 5x", "invalid value '5x' for -F: not a whole number", ""},
		{"x -F 99999999999999999999",
		 "invalid value '99999999999999999999' for -F: not a whole number", ""},
		{"x --max-overhead nan", "invalid value 'nan' for --max-overhead: not a number",
		 ""},
		{"x --max-overhead 101",
		 "invalid value '101' for --max-overhead: must be between 0 and 100", ""},
		{"x --by modul",
		 "invalid value 'modul' for --by: must be one of function, line, module",
		 "did you mean 'module'?"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct parsed parsed;

		assert_int_equal(parse(&parsed, false, refusals[i].line), ERR_INVALID);
		assert_string_equal(parsed.err.what, refusals[i].what);
		assert_string_equal(parsed.err.hint, refusals[i].hint);
	}
}

struct duration {
	const char *text;
	uint64_t ns;
};

TEST(options, durations)
{
	static const struct duration good[] = {
		{"10", 10000000000},   {"10s", 10000000000}, {"500ms", 500000000},
		{"2m", 120000000000},  {"1.5s", 1500000000}, {"250us", 250000},
		{"1h", 3600000000000}, {"7ns", 7},	     {"0", 0},
	};
	static const char *const bad[] = {"",	 "s",	"-1", "1 s",  "1x", "0x10",
					  "1e3", "nan", ".",  "1..2", "1M", "99999999999h"};
	struct err err = ERR_INIT;
	uint64_t ns = 42;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(duration_parse(good[i].text, &ns, &err), 0);
		assert_int_equal(ns, good[i].ns);
	}
	ns = 42;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(duration_parse(bad[i], &ns, &err), ERR_INVALID);
	assert_int_equal(ns, 42);
}

static enum options_ask asked(bool stop_at_word, const char *line)
{
	struct parsed parsed;

	(void)parse(&parsed, stop_at_word, line);
	release(&parsed);
	(void)parse(&parsed, true, line); /* an unpermuted argv again */
	release(&parsed);
	return options_asked(rows, parsed.argc, parsed.argv, stop_at_word);
}

TEST(options, help_is_seen_where_it_is_an_option)
{
	assert_int_equal(asked(true, "record --help"), OPTIONS_ASK_HELP);
	assert_int_equal(asked(true, "record -qh prog"), OPTIONS_ASK_HELP);
	assert_int_equal(asked(true, "record --bogus --help"), OPTIONS_ASK_HELP);
	assert_int_equal(asked(true, "record --list-options"), OPTIONS_ASK_LIST);
	assert_int_equal(asked(true, "record prog --help"), OPTIONS_ASK_NOTHING);
	assert_int_equal(asked(true, "record -o --help"), OPTIONS_ASK_NOTHING);
	assert_int_equal(asked(false, "report word --help"), OPTIONS_ASK_HELP);
	assert_int_equal(asked(false, "report -- --help"), OPTIONS_ASK_NOTHING);
}

TEST(options, help_text)
{
	static const struct option_row few[] = {
		{.type = OPTION_SECTION, .name = "Sampling"},
		{.type = OPTION_UINT,
		 .short_name = 'F',
		 .name = "frequency",
		 .argument = "HZ",
		 .help = "Look at each thread this many times a second, unless it costs too much. "
			 "[500]"},
		{.type = OPTION_STRING,
		 .name = "a-name-with-no-end",
		 .argument = "SOMETHING",
		 .help = "Long."},
		{.type = OPTION_FLAG, .name = "secret", .help = "No.", .hidden = true},
		OPTIONS_END,
	};
	struct buf out = {0};

	options_help(few, &out);
	assert_string_equal(
		buf_str(&out),
		"\nSampling:\n"
		"  -F, --frequency HZ       Look at each thread this many times a second, unless\n"
		"                           it costs too much. [500]\n"
		"      --a-name-with-no-end SOMETHING\n"
		"                           Long.\n"
		"\nOther:\n"
		"  -h, --help               show this help\n");
	buf_clear(&out);
	options_list(few, &out);
	assert_string_equal(buf_str(&out), "-F\n--frequency\n--a-name-with-no-end\n-h\n--help\n");
	buf_release(&out);
}
