// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the line table of a code object. */
#include "script/cpython_line.h"

#include <stdbool.h>

/* The first byte of an entry has this bit, and no other byte of it has. */
#define BEGINS_ENTRY UINT8_C(0x80)

enum entry_kind {
	ENTRY_ONE_LINE_FIRST = 10, /* it, and the next two: by so many lines further */
	ENTRY_ONE_LINE_LAST = 12,
	ENTRY_WITHOUT_COLUMNS = 13,
	ENTRY_LONG = 14,
	ENTRY_WITHOUT_LINE = 15,
};

/* Six bits a byte, as long as the seventh is set; longer ones are no line. */
#define VARINT_BYTES_MAX 6

static int64_t read_signed(const uint8_t *at, const uint8_t *end)
{
	uint64_t value = 0;

	for (unsigned int i = 0; at + i < end && i < VARINT_BYTES_MAX; i++) {
		value |= (uint64_t)(at[i] & 0x3f) << (6 * i);
		if (!(at[i] & 0x40))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t lines_further(unsigned int kind, const uint8_t *rest, const uint8_t *end)
{
	if (kind == ENTRY_WITHOUT_COLUMNS || kind == ENTRY_LONG)
		return read_signed(rest, end);
	if (kind >= ENTRY_ONE_LINE_FIRST && kind <= ENTRY_ONE_LINE_LAST)
		return kind - ENTRY_ONE_LINE_FIRST;
	return 0;
}

static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs of how many bytes of instructions on the next line begins, and how many lines further. */
static uint32_t line_by_step(const uint8_t *table, size_t nr_bytes, int64_t line, int64_t byte)
{
	int64_t nr_done = 0;

	for (size_t i = 0; i + 2 <= nr_bytes; i += 2) {
		nr_done += table[i];
		if (nr_done > byte)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

/* Instructions without a line leave that of the next ones as it is. */
#define NO_LINE INT8_MIN

/* Pairs of how many bytes of instructions a line has, and how many lines further that is. */
static uint32_t line_by_range(const uint8_t *table, size_t nr_bytes, int64_t line, int64_t byte)
{
	int64_t nr_done = 0;

	for (size_t i = 0; i + 2 <= nr_bytes; i += 2) {
		int8_t nr_lines = (int8_t)table[i + 1];

		nr_done += table[i];
		line += nr_lines == NO_LINE ? 0 : nr_lines;
		if (byte < nr_done)
			return nr_lines == NO_LINE ? 0 : as_line(line);
	}
	return 0;
}

static uint32_t line_by_entry(const uint8_t *table, size_t nr_bytes, int64_t line, int64_t unit)
{
	const uint8_t *at = table, *end = table + nr_bytes;
	int64_t nr_units = 0;

	while (at < end) {
		unsigned int kind = *at >> 3 & 15;

		nr_units += (*at & 7) + 1;
		line += lines_further(kind, at + 1, end);
		if (unit < nr_units)
			return kind == ENTRY_WITHOUT_LINE ? 0 : as_line(line);
		do {
			at++;
		} while (at < end && !(*at & BEGINS_ENTRY));
	}
	return 0;
}

uint32_t cpython_line(enum cpython_lines lines, const uint8_t *table, size_t nr_bytes,
		      uint32_t first_line, int64_t unit)
{
	if (unit < 0)
		return as_line(first_line);
	if (lines == CPYTHON_LINES_BY_STEP)
		return line_by_step(table, nr_bytes, first_line, unit * 2);
	if (lines == CPYTHON_LINES_BY_RANGE)
		return line_by_range(table, nr_bytes, first_line, unit * 2);
	return line_by_entry(table, nr_bytes, first_line, unit);
}
