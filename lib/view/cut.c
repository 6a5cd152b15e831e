// SPDX-License-Identifier: GPL-2.0-or-later
/* Cuts text to a number of columns. */
#include "view/cut.h"

#include <string.h>

#include "base/buf.h"
#include "base/escape.h"

#define ELLIPSIS "\xe2\x80\xa6"

static size_t character_bytes(const char *text)
{
	size_t nr = 1;

	while (((unsigned char)text[nr] & 0xc0) == 0x80)
		nr++;
	return nr;
}

static size_t character_columns(const char *text)
{
	char one[8];
	size_t nr = character_bytes(text);

	if (nr >= sizeof(one))
		return 1;
	memcpy(one, text, nr);
	one[nr] = '\0';
	return text_columns(one);
}

/* The bytes at the start of text that fit in so many columns. */
static size_t head_bytes(const char *text, size_t columns)
{
	size_t at = 0;

	while (text[at]) {
		size_t width = character_columns(text + at);

		if (width > columns)
			break;
		columns -= width;
		at += character_bytes(text + at);
	}
	return at;
}

/* The tail of text that fits in this many columns. */
static const char *tail(const char *text, size_t columns)
{
	size_t width = text_columns(text);

	while (*text && width > columns) {
		width -= character_columns(text);
		text += character_bytes(text);
	}
	return text;
}

size_t append_cut(struct buf *out, const char *text, size_t columns, enum cut cut)
{
	size_t width = text_columns(text), head_columns = 0, start = out->nr_bytes;

	if (width <= columns) {
		buf_append_str(out, text);
		return width;
	}
	if (columns == 0)
		return 0;
	if (cut == CUT_END)
		head_columns = columns - 1;
	else if (cut == CUT_MIDDLE) /* scopes come first: the last part is more important */
		head_columns = (columns - 1) / 3;
	buf_append(out, text, head_bytes(text, head_columns));
	buf_append_str(out, ELLIPSIS);
	if (cut != CUT_END)
		buf_append_str(out, tail(text, columns - 1 - head_columns));
	return text_columns(buf_str(out) + start);
}

const char *cut_directories(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
