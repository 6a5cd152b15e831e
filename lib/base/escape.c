// SPDX-License-Identifier: GPL-2.0-or-later
/* Escaping of untrusted text for terminals, JSON and shells, its width in columns, and base64. */
#include "base/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define INVALID UINT32_MAX

/* Decode one code point at text; *nr_bytes is 1 for an invalid byte. RFC 3629, no surrogates. */
static uint32_t decode_utf8(const uint8_t *text, size_t *nr_bytes)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t point = text[0];
	size_t length;

	*nr_bytes = 1;
	if (point < 0x80)
		return point;
	if (point >= 0xf0 && point < 0xf5)
		length = 4;
	else if (point >= 0xe0 && point < 0xf0)
		length = 3;
	else if (point >= 0xc2 && point < 0xe0)
		length = 2;
	else
		return INVALID;
	point &= 0x7fU >> length;
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80) /* also stops at the final NUL */
			return INVALID;
		point = point << 6 | (text[i] & 0x3fU);
	}
	if (point < smallest[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return INVALID;
	*nr_bytes = length;
	return point;
}

/* Bidi marks reorder the text around them and can make a name look like another one. */
static bool is_bidi_control(uint32_t point)
{
	return (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
	       point == 0x200e || point == 0x200f || point == 0x061c;
}

static bool is_control(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

void escape_terminal(struct buf *out, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	while (*at) {
		size_t nr_bytes;
		uint32_t point = decode_utf8(at, &nr_bytes);

		if (point == '\n')
			buf_append_str(out, "\\n");
		else if (point == '\t')
			buf_append_str(out, "\\t");
		else if (point == INVALID || is_control(point) || is_bidi_control(point))
			for (size_t i = 0; i < nr_bytes; i++)
				buf_printf(out, "\\x%02x", at[i]);
		else
			buf_append(out, at, nr_bytes);
		at += nr_bytes;
	}
}

struct point_range {
	uint32_t first, last;
	size_t columns;
};

/* The blocks that matter in names and paths; wcwidth() would depend on the locale. */
static const struct point_range odd_widths[] = {
	{0x0300, 0x036f, 0},   {0x200b, 0x200f, 0},   {0x20d0, 0x20ff, 0},   {0xfe00, 0xfe0f, 0},
	{0x1100, 0x115f, 2},   {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},
	{0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
	{0x1f300, 0x1f64f, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
};

static size_t point_columns(uint32_t point)
{
	if (point < 0x300)
		return 1;
	for (size_t i = 0; i < sizeof(odd_widths) / sizeof(odd_widths[0]); i++) {
		if (point >= odd_widths[i].first && point <= odd_widths[i].last)
			return odd_widths[i].columns;
	}
	return 1;
}

size_t text_columns(const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t columns = 0;

	while (*at) {
		size_t nr_bytes;

		columns += point_columns(decode_utf8(at, &nr_bytes));
		at += nr_bytes;
	}
	return columns;
}

void escape_json(struct buf *out, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	while (*at) {
		size_t nr_bytes;
		uint32_t point = decode_utf8(at, &nr_bytes);

		if (point == INVALID)
			buf_append_str(out, "\xef\xbf\xbd");
		else if (point == '"' || point == '\\')
			buf_printf(out, "\\%c", (int)point);
		else if (is_control(point) || is_bidi_control(point) || point == '<' ||
			 point == 0x2028 || point == 0x2029)
			buf_printf(out, "\\u%04x", point);
		else
			buf_append(out, at, nr_bytes);
		at += nr_bytes;
	}
}

void escape_shell(struct buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./-+,:@%=";

	if (*word && !word[strspn(word, plain)]) {
		buf_append_str(out, word);
		return;
	}
	buf_append_byte(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_append_str(out, "'\\'");
		buf_append_byte(out, (uint8_t)*word);
	}
	buf_append_byte(out, '\'');
}

void escape_base64(struct buf *out, const void *bytes, size_t nr_bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *at = bytes;

	for (size_t i = 0; i < nr_bytes; i += 3) {
		size_t nr_left = nr_bytes - i;
		uint32_t group = (uint32_t)at[i] << 16 |
				 (nr_left > 1 ? (uint32_t)at[i + 1] << 8 : 0) |
				 (nr_left > 2 ? at[i + 2] : 0);
		char text[4] = {digits[group >> 18], digits[group >> 12 & 63],
				nr_left > 1 ? digits[group >> 6 & 63] : '=',
				nr_left > 2 ? digits[group & 63] : '='};

		buf_append(out, text, sizeof(text));
	}
}

void escape_csv(struct buf *out, const char *text)
{
	struct buf plain = {0};
	bool quoted;

	escape_terminal(&plain, text);
	text = buf_str(&plain);
	quoted = text[strcspn(text, "\",")] != '\0';
	buf_append_str(out, quoted ? "\"" : "");
	for (; *text; text++)
		buf_append_str(out, *text == '"' ? "\"\"" : (const char[]){*text, '\0'});
	buf_append_str(out, quoted ? "\"" : "");
	buf_release(&plain);
}
