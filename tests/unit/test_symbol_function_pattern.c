// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/err.h"
#include "symbol/function_pattern.h"
#include "tests/unit/unit.h"

static struct function_pattern read_pattern(const char *text)
{
	struct function_pattern pattern;
	struct err err = ERR_INIT;

	if (function_pattern_init(&pattern, text, &err) < 0)
		fail_msg("%s", err.what);
	assert_string_equal(pattern.text, text);
	return pattern;
}

static bool takes_function(const struct function_pattern *pattern, const char *name)
{
	const regex_t *regex = function_pattern_regex(pattern);

	return !regex || regexec(regex, name, 0, NULL, 0) == 0;
}

TEST(symbol_function_pattern, function_of_any_module)
{
	struct function_pattern pattern = read_pattern("^parse_");

	assert_true(function_pattern_takes_module(&pattern, "/usr/bin/prog"));
	assert_true(takes_function(&pattern, "parse_line"));
	assert_false(takes_function(&pattern, "do_parse_line"));
	assert_string_equal(pattern.name, "^parse_");
	function_pattern_release(&pattern);
}

TEST(symbol_function_pattern, module_by_base_name_or_path)
{
	struct function_pattern pattern = read_pattern("^libc\\.so!^malloc$");

	assert_true(function_pattern_takes_module(&pattern, "/lib/x86_64-linux-gnu/libc.so.6"));
	assert_false(function_pattern_takes_module(&pattern, "/lib/libcrypt.so.1"));
	assert_false(function_pattern_takes_module(&pattern, "/opt/my-libc.so"));
	assert_true(takes_function(&pattern, "malloc"));
	assert_string_equal(pattern.name, "^malloc$");
	function_pattern_release(&pattern);
	pattern = read_pattern("^/opt/.*/lib!x");
	assert_true(function_pattern_takes_module(&pattern, "/opt/app/lib/a.so"));
	assert_false(function_pattern_takes_module(&pattern, "/usr/opt/app/lib/a.so"));
	function_pattern_release(&pattern);
}

TEST(symbol_function_pattern, empty_parts_mean_all)
{
	static const char *const texts[] = {"", "!"};
	struct function_pattern pattern;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		pattern = read_pattern(texts[i]);
		assert_true(function_pattern_takes_module(&pattern, "/usr/bin/prog"));
		assert_null(function_pattern_regex(&pattern));
		function_pattern_release(&pattern);
	}
	pattern = read_pattern("prog!");
	assert_true(function_pattern_takes_module(&pattern, "/usr/bin/prog"));
	assert_false(function_pattern_takes_module(&pattern, "/usr/bin/other"));
	assert_null(function_pattern_regex(&pattern));
	function_pattern_release(&pattern);
}

TEST(symbol_function_pattern, expression_of_all_names)
{
	static const char *const all[] = {".", ".*", "^.*$", "lib!."};
	static const char *const some[] = {"..", ".$x", "^$", "\\.", "f", "[.]"};
	struct function_pattern pattern;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		pattern = read_pattern(all[i]);
		assert_null(function_pattern_regex(&pattern));
		assert_true(pattern.has_function);
		function_pattern_release(&pattern);
	}
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		pattern = read_pattern(some[i]);
		assert_non_null(function_pattern_regex(&pattern));
		function_pattern_release(&pattern);
	}
}

/* Only what is plain to see: a wrong word would hide functions. */
TEST(symbol_function_pattern, word_that_all_matches_contain)
{
	static const struct {
		const char *text, *word;
	} rows[] = {
		{"^main$", "main"},
		{"lib!^main$", "main"},
		{"^ns::longer::f$", "longer"},
		{"ab.cde", "cde"},
		{"colou?r", "colo"},
		{"ab+cd*", "a"},
		{"x*", NULL},
		{"one|another", NULL},
		{"^(get|set)_value$", NULL},
		{"value[0-9]", NULL},
		{"a{0}bc", NULL},
		{"\\<word\\>x", "word"},
		{"operator\\+", "operator"},
		{"\\word", "ord"},
		{"\\w\\w", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct function_pattern pattern = read_pattern(rows[i].text);
		const char *word = function_pattern_word(&pattern);

		if (rows[i].word)
			assert_string_equal(word, rows[i].word);
		else
			assert_null(word);
		function_pattern_release(&pattern);
	}
}

TEST(symbol_function_pattern, mark_as_part_of_a_name)
{
	static const char *const texts[] = {"!operator!=", "operator\\!=", "operator[!]=",
					    "operator[][:alpha:]!]=", "operator[^]a]="};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct function_pattern pattern = read_pattern(texts[i]);

		assert_true(function_pattern_takes_module(&pattern, "/usr/bin/prog"));
		assert_true(takes_function(&pattern, "A::operator!=(A const&)"));
		assert_false(takes_function(&pattern, "A::operator(A const&)"));
		function_pattern_release(&pattern);
	}
}

static void assert_bad(const char *text, const char *named)
{
	struct function_pattern pattern;
	struct err err = ERR_INIT;

	assert_int_equal(function_pattern_init(&pattern, text, &err), ERR_INVALID);
	if (!strstr(err.what, named))
		fail_msg("'%s' does not name %s", err.what, named);
}

TEST(symbol_function_pattern, bad_part_is_named)
{
	assert_bad("f(", "'f(' for functions: ");
	assert_bad("libc!f(", "'f(' for functions: ");
	assert_bad("*libc(!f", "'*libc(' for modules: ");
	assert_bad("[a!f", "'[a!f' for functions: ");
	assert_bad("a\\", "'a\\' for functions: ");
}
