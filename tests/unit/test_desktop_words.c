// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "desktop/words_priv.h"
#include "tests/unit/unit.h"

TEST(file_url, other_bytes_are_escaped)
{
	struct buf url = {0};

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

TEST(browser_words, the_url_has_its_place)
{
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

TEST(browser_words, of_a_part_of_a_text)
{
	char **words = browser_words("a %s:b", 3, "URL"); /* "a %", as it is cut there */

	assert_string_equal(words[1], "%");
	assert_string_equal(words[2], "URL");
	assert_null(words[3]);
	browser_words_free(words);
}
