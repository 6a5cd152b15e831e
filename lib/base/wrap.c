// SPDX-License-Identifier: GPL-2.0-or-later
/* Wrapping of text into lines. */
#include "base/wrap.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/escape.h"

static size_t columns_of(const char *word, size_t nr_bytes)
{
	struct buf copy = {0};
	size_t columns;

	buf_append(&copy, word, nr_bytes);
	columns = text_columns(buf_str(&copy));
	buf_release(&copy);
	return columns;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n';
}

void wrap_words(struct buf *out, const char *words, size_t nr_bytes, const struct wrap *wrap)
{
	const char *end = words + nr_bytes;
	size_t column = wrap->indent;

	while (words < end) {
		size_t length = 0;
		size_t columns;

		while (words + length < end && !is_space(words[length]))
			length++;
		columns = columns_of(words, length);
		if (column > wrap->indent && column + 1 + columns > wrap->columns) {
			buf_printf(out, "\n%*s", (int)wrap->indent, "");
			column = wrap->indent;
		} else if (column > wrap->indent) {
			buf_append_byte(out, ' ');
			column++;
		}
		buf_append(out, words, length);
		column += columns;
		words += length;
		while (words < end && is_space(*words))
			words++;
	}
	buf_append_byte(out, '\n');
}

/* Up to the first line that is empty or begins with a space. */
static size_t paragraph_bytes(const char *text)
{
	const char *at = text;

	for (;;) {
		at += strcspn(at, "\n");
		if (!*at)
			break;
		if (is_space(at[1]))
			break;
		at++;
	}
	return (size_t)(at - text);
}

void wrap_text(struct buf *out, const char *text, const struct wrap *wrap)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		if (length == 0 || *text == ' ') {
			buf_append(out, text, length);
			buf_append_byte(out, '\n');
		} else {
			length = paragraph_bytes(text);
			wrap_words(out, text, length, wrap);
		}
		text += length;
		text += *text == '\n';
	}
}
