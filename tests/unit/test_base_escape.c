// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "base/escape.h"
#include "tests/unit/unit.h"

struct text_case {
	const char *text, *terminal, *json;
};

static const struct text_case cases[] = {
	{"plain", "plain", "plain"},
	{"", "", ""},
	{"a\tb\nc", "a\\tb\\nc", "a\\u0009b\\u000ac"},
	{"\x1b]52;c;AAAA\x07", "\\x1b]52;c;AAAA\\x07", "\\u001b]52;c;AAAA\\u0007"},
	{"\x7f", "\\x7f", "\\u007f"},
	{"quote\" back\\slash", "quote\" back\\slash", "quote\\\" back\\\\slash"},
	{"</script>", "</script>", "\\u003c/script>"},
	/* Valid UTF-8 of two, three and four bytes. */
	{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
	 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
	/* C1: CSI as U+009B, and as a lone byte. */
	{"\xc2\x9b"
	 "2J",
	 "\\xc2\\x9b2J", "\\u009b2J"},
	{"\x9b"
	 "2J",
	 "\\x9b2J",
	 "\xef\xbf\xbd"
	 "2J"},
	/* A right-to-left override, an isolate, and the Arabic letter mark. */
	{"\xe2\x80\xae", "\\xe2\\x80\\xae", "\\u202e"},
	{"\xe2\x81\xa6", "\\xe2\\x81\\xa6", "\\u2066"},
	{"\xd8\x9c", "\\xd8\\x9c", "\\u061c"},
	/* Line separators end a line in JavaScript. */
	{"\xe2\x80\xa8", "\xe2\x80\xa8", "\\u2028"},
	/* Too long for its number, surrogates, beyond Unicode, cut short, lone continuation. */
	{"\xc0\xaf", "\\xc0\\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xe0\x80\xaf", "\\xe0\\x80\\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xed\xa0\x80", "\\xed\\xa0\\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80",
	 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xf5x", "\\xf5x", "\xef\xbf\xbdx"},
	{"\xe2\x82", "\\xe2\\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xf0\x9f\x98", "\\xf0\\x9f\\x98", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xe2\x82x", "\\xe2\\x82x", "\xef\xbf\xbd\xef\xbf\xbdx"},
	{"\x80", "\\x80", "\xef\xbf\xbd"},
};

TEST(escape, hostile_texts)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf terminal = {0}, json = {0};

		escape_terminal(&terminal, cases[i].text);
		escape_json(&json, cases[i].text);
		assert_string_equal(buf_str(&terminal), cases[i].terminal);
		assert_string_equal(buf_str(&json), cases[i].json);
		buf_release(&terminal);
		buf_release(&json);
	}
}

/* Any byte, alone or between others: nothing that a terminal acts on comes out. */
TEST(escape, no_control_byte_survives)
{
	struct buf out = {0};

	for (int first = 1; first < 256; first++) {
		for (int second = 1; second < 256; second++) {
			char text[] = {(char)first, (char)second, 'x', '\0'};

			buf_clear(&out);
			escape_terminal(&out, text);
			for (size_t i = 0; i < out.nr_bytes; i++)
				assert_true(out.bytes[i] >= 0x20 && out.bytes[i] != 0x7f);
			assert_int_equal(out.bytes[out.nr_bytes - 1], 'x');
		}
	}
	buf_release(&out);
}

TEST(text_columns, wide_and_combining)
{
	assert_int_equal(text_columns(""), 0);
	assert_int_equal(text_columns("abc"), 3);
	assert_int_equal(text_columns("\xc3\xa9"), 1);
	assert_int_equal(text_columns("e\xcc\x81"), 1);	       /* e and a combining acute */
	assert_int_equal(text_columns("\xe6\xbc\xa2"), 2);     /* a Han character */
	assert_int_equal(text_columns("\xf0\x9f\x98\x80"), 2); /* an emoji */
	assert_int_equal(text_columns("\xe2\x80\xa6"), 1);     /* an ellipsis */
}

TEST(escape_shell, nothing_gets_out_of_the_quotes)
{
	struct buf command = {0};

	escape_shell(&command, "it's $(here); `x`");
	assert_string_equal(buf_str(&command), "'it'\\''s $(here); `x`'");
	buf_release(&command);
}

TEST(escape_shell, plain_words_stay_plain)
{
	struct buf command = {0};

	escape_shell(&command, "/tmp/a-b_c.data");
	buf_append_byte(&command, ' ');
	escape_shell(&command, "");
	assert_string_equal(buf_str(&command), "/tmp/a-b_c.data ''");
	buf_release(&command);
}

TEST(escape_base64, pads_to_four_digits)
{
	/* The test vectors of RFC 4648, and the last two digits. */
	static const char *const vectors[][2] = {
		{"", ""},	 {"f", "Zg=="},	       {"fo", "Zm8="},
		{"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xfb\xff\xbf", "+/+/"}};

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		struct buf text = {0};

		escape_base64(&text, vectors[i][0], strlen(vectors[i][0]));
		assert_string_equal(buf_str(&text), vectors[i][1]);
		buf_release(&text);
	}
}
