// SPDX-License-Identifier: GPL-2.0-or-later
/* Scanning of numbers in text without a terminating NUL. */
#include "base/scan.h"

#include <string.h>

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

static bool scan_digits(struct scan *scan, unsigned int base, uint64_t *value)
{
	const char *at = scan->at;
	uint64_t number = 0;

	for (; at < scan->end; at++) {
		unsigned int digit = (unsigned int)digit_value(*at);

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(number, (uint64_t)base, &number) ||
		    __builtin_add_overflow(number, (uint64_t)digit, &number))
			return false;
	}
	if (at == scan->at)
		return false;
	scan->at = at;
	*value = number;
	return true;
}

bool scan_decimal(struct scan *scan, uint64_t *value)
{
	return scan_digits(scan, 10, value);
}

bool scan_signed(struct scan *scan, int64_t *value)
{
	struct scan try = *scan;
	bool negative = scan_char(&try, '-');
	uint64_t magnitude;

	if (!scan_decimal(&try, &magnitude) || magnitude > (uint64_t)INT64_MAX)
		return false;
	*value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
	*scan = try;
	return true;
}

bool scan_hex(struct scan *scan, uint64_t *value)
{
	struct scan try = *scan;

	if (scan_char(&try, '0') && (scan_char(&try, 'x') || scan_char(&try, 'X')) &&
	    scan_digits(&try, 16, value)) {
		*scan = try;
		return true;
	}
	return scan_digits(scan, 16, value);
}

bool scan_char(struct scan *scan, char wanted)
{
	if (scan->at >= scan->end || *scan->at != wanted)
		return false;
	scan->at++;
	return true;
}

void scan_blanks(struct scan *scan)
{
	while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t'))
		scan->at++;
}

bool scan_line(struct scan *text, struct scan *line)
{
	const char *end;

	if (text->at >= text->end)
		return false;
	end = memchr(text->at, '\n', (size_t)(text->end - text->at));
	*line = (struct scan){.at = text->at, .end = end ? end : text->end};
	text->at = end ? end + 1 : text->end;
	return true;
}
