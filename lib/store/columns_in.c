// SPDX-License-Identifier: GPL-2.0-or-later
/* Decoder for the columns of a record. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/columns_priv.h"

void columns_in_release(struct columns_in *in)
{
	free(in->numbers);
	*in = (struct columns_in){0};
}

/* Add one plane of a column in which every number is stored. */
static void add_plane(uint64_t *numbers, uint64_t nr_rows, const uint8_t *plane, unsigned int shift)
{
	for (uint64_t i = 0; i < nr_rows; i++)
		numbers[i] += (uint64_t)plane[i] << shift;
}

/* The bits of a bitmap for eight rows; bits after the last row are cleared. */
static unsigned int marks_of_eight(const uint8_t *bitmap, uint64_t row, uint64_t nr_rows)
{
	uint64_t left = nr_rows - row;

	return left < 8 ? bitmap[row / 8] & ((1U << left) - 1) : bitmap[row / 8];
}

/* Add a plane that has only the numbers marked in the bitmap: they are few. */
static void add_sparse_plane(uint64_t *numbers, uint64_t nr_rows, const uint8_t *bitmap,
			     const uint8_t *plane, unsigned int shift)
{
	for (uint64_t row = 0; row < nr_rows; row += 8) {
		unsigned int marks = marks_of_eight(bitmap, row, nr_rows);

		for (; marks; marks &= marks - 1)
			numbers[row + (unsigned int)__builtin_ctz(marks)] += (uint64_t)*plane++
									     << shift;
	}
}

static uint64_t count_marked(const uint8_t *bitmap, uint64_t nr_rows)
{
	uint64_t nr = 0;

	for (uint64_t row = 0; row < nr_rows; row += 8)
		nr += (uint64_t)__builtin_popcount(marks_of_eight(bitmap, row, nr_rows));
	return nr;
}

static bool read_numbers(struct cursor column, uint64_t *numbers, uint64_t nr_rows)
{
	uint8_t head = cursor_byte(&column);
	uint64_t base = cursor_uleb(&column);
	unsigned int width = head & 0xfU;
	uint64_t nr_stored = nr_rows;
	const uint8_t *bitmap = NULL;

	if (width > 8 || (head & ~(0xfU | COLUMN_SPARSE)))
		return false;
	if (head & COLUMN_SPARSE) {
		bitmap = cursor_bytes(&column, (nr_rows + 7) / 8);
		if (!bitmap)
			return false;
		nr_stored = count_marked(bitmap, nr_rows);
	}
	for (uint64_t i = 0; i < nr_rows; i++)
		numbers[i] = base;
	for (unsigned int plane = 0; plane < width; plane++) {
		const uint8_t *bytes = cursor_bytes(&column, nr_stored);

		if (!bytes)
			return false;
		if (bitmap)
			add_sparse_plane(numbers, nr_rows, bitmap, bytes, 8 * plane);
		else
			add_plane(numbers, nr_rows, bytes, 8 * plane);
	}
	return !column.failed && cursor_left(&column) == 0;
}

/*
 * Read the lengths of the first *nr_columns columns, or of all if there are fewer, but at least
 * nr_needed. The cursor ends up at the columns.
 */
static bool read_lengths(struct cursor *cursor, unsigned int *nr_columns, unsigned int nr_needed,
			 uint64_t *lengths)
{
	uint64_t nr_in_file = cursor_uleb(cursor);

	if (cursor->failed || nr_in_file < nr_needed || nr_in_file > cursor_left(cursor))
		return false;
	if (nr_in_file < *nr_columns)
		*nr_columns = (unsigned int)nr_in_file;
	for (uint64_t i = 0; i < nr_in_file; i++) {
		uint64_t length = cursor_uleb(cursor);

		if (i < *nr_columns)
			lengths[i] = length;
	}
	return !cursor->failed;
}

bool columns_in_open(struct columns_in *in, const uint8_t *payload, size_t nr_bytes,
		     unsigned int nr_columns, unsigned int nr_needed, uint32_t texts)
{
	struct cursor cursor = cursor_over(payload, nr_bytes);
	uint64_t lengths[COLUMNS_MAX] = {0};
	unsigned int nr_there = nr_columns;

	assert(nr_columns <= COLUMNS_MAX);
	in->nr_rows = cursor_uleb(&cursor);
	in->row = 0;
	in->failed = false;
	if (in->nr_rows > RECORD_ROWS_MAX || !read_lengths(&cursor, &nr_there, nr_needed, lengths))
		return false;
	/* At least one: the sums below need an array even when there are no rows. */
	ARRAY_RESERVE(in->numbers, in->nr_rows * nr_columns + 1, in->cap_numbers);
	for (uint64_t i = nr_there * in->nr_rows; i < nr_columns * in->nr_rows; i++)
		in->numbers[i] = 0;
	for (unsigned int i = 0; i < nr_there; i++) {
		const uint8_t *bytes = cursor_bytes(&cursor, lengths[i]);

		if (!bytes)
			return false;
		in->texts[i] = cursor_over(bytes, lengths[i]);
		if (!(texts & UINT32_C(1) << i) &&
		    !read_numbers(in->texts[i], in->numbers + i * in->nr_rows, in->nr_rows))
			return false;
	}
	return true;
}

const uint8_t *columns_in_bytes(struct columns_in *in, unsigned int column, uint64_t nr_bytes)
{
	const uint8_t *bytes = cursor_bytes(&in->texts[column], nr_bytes);

	if (!bytes)
		in->failed = true;
	return bytes;
}
