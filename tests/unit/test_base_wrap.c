// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/wrap.h"
#include "tests/unit/unit.h"

TEST(wrap, fills_lines_and_indents)
{
	static const char words[] = "eighteen-character eighteen-character eighteen-character "
				    "eighteen-character eighteen-character";
	struct buf out = {0};

	wrap_words(&out, words, strlen(words), &(struct wrap){.columns = 79, .indent = 4});
	assert_string_equal(buf_str(&out),
			    "eighteen-character eighteen-character eighteen-character "
			    "eighteen-character\n    eighteen-character\n");
	buf_release(&out);
}

TEST(wrap, columns_are_not_bytes)
{
	/* 39 letters of two bytes, a space, 39 more: 79 columns. */
	static const char half[] = "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
				   "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
				   "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
				   "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4";
	struct buf words = {0}, out = {0}, expected = {0};

	buf_printf(&words, "%s %s", half, half);
	buf_printf(&expected, "%s %s\n", half, half);
	wrap_words(&out, buf_str(&words), words.nr_bytes, &(struct wrap){.columns = 79});
	assert_string_equal(buf_str(&out), buf_str(&expected));
	buf_release(&words);
	buf_release(&out);
	buf_release(&expected);
}

TEST(wrap, paragraphs_are_filled_and_examples_stay)
{
	struct buf out = {0};

	wrap_text(&out, "One\ntwo.\n\nExamples:\n  profc  x\n  profc  y\n\nLast",
		  &(struct wrap){.columns = 79});
	assert_string_equal(buf_str(&out),
			    "One two.\n\nExamples:\n  profc  x\n  profc  y\n\nLast\n");
	buf_release(&out);
}
