// SPDX-License-Identifier: GPL-2.0-or-later
/* Parser for perf maps. */
#include "jit/perf_map.h"

#include <stdint.h>
#include <string.h>

#include "jit/jit_code.h"

/* The rest of a line. */
struct text {
	const char *at, *end;
};

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* A hexadecimal number, with or without 0x, and the space after it. */
static bool take_number(struct text *text, uint64_t *number)
{
	const char *first;

	if (text->end - text->at > 2 && text->at[0] == '0' && (text->at[1] | 0x20) == 'x')
		text->at += 2;
	first = text->at;
	*number = 0;
	while (text->at < text->end && digit_of(*text->at) >= 0 && text->at - first < 16)
		*number = *number << 4 | (uint64_t)digit_of(*text->at++);
	return text->at > first && text->at < text->end && *text->at++ == ' ';
}

static void take_line(struct text line, struct jit_code *code)
{
	uint64_t start, nr_bytes;

	if (line.end > line.at && line.end[-1] == '\r')
		line.end--;
	if (take_number(&line, &start) && take_number(&line, &nr_bytes))
		jit_code_add(code, start, nr_bytes, line.at,
			     strnlen(line.at, (size_t)(line.end - line.at)));
}

size_t perf_map_parse(const char *text, size_t nr_bytes, bool is_end, struct jit_code *code)
{
	size_t at = 0;

	while (at < nr_bytes) {
		const char *newline = memchr(text + at, '\n', nr_bytes - at);
		size_t end = newline ? (size_t)(newline - text) : nr_bytes;

		if (!newline && !is_end)
			break;
		take_line((struct text){text + at, text + end}, code);
		at = newline ? end + 1 : end;
	}
	return at;
}
