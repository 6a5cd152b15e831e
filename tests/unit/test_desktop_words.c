// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "desktop/words_priv.h"

static void test_file_url__other_bytes_are_escaped(void **state)
{
	struct buf url = {0};

	(void)state;
	file_url_append(&url, "/tmp/a-b_c.d~1/100% \xc3\xa4?#'\n.html");
	assert_string_equal(buf_str(&url),
			    "file:///tmp/a-b_c.d~1/100%25%20%C3%A4%3F%23%27%0A.html");
	buf_release(&url);
}

static void assert_words(const char *command, const char *expected)
{
	char **words = browser_words(command, strlen(command), "URL");
	struct buf joined = {0};

	for (char **word = words; word && *word; word++)
		buf_printf(&joined, "<%s>", *word);
	assert_string_equal(buf_str(&joined), expected);
	buf_release(&joined);
	browser_words_free(words);
}

static void test_browser_words__the_url_has_its_place(void **state)
{
	(void)state;
	assert_words("firefox", "<firefox><URL>");
	assert_words("  a\tb  ", "<a><b><URL>");
	assert_words("x --app=%s -y", "<x><--app=URL><-y>");
	assert_words("x %% %s%s", "<x><%><URLURL>");
	assert_words("x 'a b;$c`d'", "<x><'a><b;$c`d'><URL>"); /* no shell */
	assert_words("x %", "<x><%><URL>");
	assert_words("%s", "<URL>");
	assert_words("", "");
	assert_words(" \t ", "");
	assert_words("a b c d e", "<a><b><c><d><e><URL>");
}

static void test_browser_words__of_a_part_of_a_text(void **state)
{
	char **words = browser_words("a %s:b", 3, "URL"); /* "a %", as it is cut there */

	(void)state;
	assert_string_equal(words[1], "%");
	assert_string_equal(words[2], "URL");
	assert_null(words[3]);
	browser_words_free(words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_url__other_bytes_are_escaped),
		cmocka_unit_test(test_browser_words__the_url_has_its_place),
		cmocka_unit_test(test_browser_words__of_a_part_of_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
