/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STORE_COLUMNS_PRIV_H
#define PROFC_STORE_COLUMNS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "store/format_columns_priv.h"
#include "store/format_heap_priv.h"
#include "store/format_priv.h"

/*
 * The rows of one record, column by column. A column of numbers is stored as a base, which is their
 * minimum, and the differences from it in planes: first the lowest byte of each, then the next byte
 * of each. So random bytes (the low bits of a time) and bytes that hardly vary are apart, as the
 * compressor needs them. A column where most numbers are the base is sparse: a bitmap marks those
 * that differ.
 */
struct column_out {
	uint64_t *numbers; /* owned */
	size_t nr_numbers, cap_numbers;
	struct buf bytes; /* instead of numbers, in columns of texts */
};

struct columns_out {
	struct column_out columns[COLUMNS_MAX];
	unsigned int nr_columns;
	uint64_t nr_rows;
};

void columns_out_release(struct columns_out *out);
/* Empty, with nr_columns columns; keeps the room of earlier use. */
void columns_out_begin(struct columns_out *out, unsigned int nr_columns);
void columns_out_uint(struct columns_out *out, unsigned int column, uint64_t value);
/* The difference value - reference, in wrapping 64-bit arithmetic, as a signed (zigzag) number. */
void columns_out_delta(struct columns_out *out, unsigned int column, uint64_t value,
		       uint64_t reference);
void columns_out_bytes(struct columns_out *out, unsigned int column, const void *bytes,
		       size_t nr_bytes);

/* How a column is going to be stored. */
struct column_plan {
	uint64_t base;
	unsigned int width; /* bytes of a difference: 0 when all numbers are equal */
	bool sparse;
	size_t nr_stored; /* differences: all, or those that are not 0 */
	size_t nr_bytes;  /* of the whole column */
};

/* One of the few bytes before the planes: the width, with this bit for sparse. */
#define COLUMN_SPARSE 0x10

struct column_plan column_plan(const struct column_out *column);
/* Append one part: 0 is the head, 1 the bitmap (empty unless sparse), 2 … the planes or texts. */
void column_append_part(const struct column_out *column, const struct column_plan *plan,
			unsigned int part, struct buf *out);
unsigned int column_nr_parts(const struct column_plan *plan);

/* The columns of the record being read. Reused from record to record. */
struct columns_in {
	uint64_t *numbers; /* owned: nr_rows for each column of numbers, column after column */
	size_t cap_numbers;
	struct cursor texts[COLUMNS_MAX]; /* by column of texts, borrowed from the record */
	uint64_t nr_rows;
	uint64_t row; /* the current row */
	bool failed;  /* a number above its bound was read, or a text beyond its column */
};

void columns_in_release(struct columns_in *in);

/*
 * Split a record's payload into columns. `texts` has a bit for each column of texts. Fails unless
 * it has at least nr_needed columns, whole and no longer than they should be. Columns after
 * nr_columns are from a later version and left out; columns of numbers that an earlier version
 * lacks are all 0.
 */
bool columns_in_open(struct columns_in *in, const uint8_t *payload, size_t nr_bytes,
		     unsigned int nr_columns, unsigned int nr_needed, uint32_t texts);

static inline uint64_t columns_in_uint(const struct columns_in *in, unsigned int column)
{
	return in->numbers[column * in->nr_rows + in->row];
}

/* At most max, else the columns have failed and the result is 0. */
static inline uint64_t columns_in_bounded(struct columns_in *in, unsigned int column, uint64_t max)
{
	uint64_t value = columns_in_uint(in, column);

	if (value <= max)
		return value;
	in->failed = true;
	return 0;
}

/* An index of a table of nr rows. */
static inline uint32_t columns_in_index(struct columns_in *in, unsigned int column, size_t nr)
{
	if (!nr) {
		in->failed = true;
		return 0;
	}
	return (uint32_t)columns_in_bounded(in, column, nr - 1);
}

static inline uint64_t columns_in_delta(const struct columns_in *in, unsigned int column,
					uint64_t reference)
{
	uint64_t zigzag = columns_in_uint(in, column);

	return reference + ((zigzag >> 1) ^ -(zigzag & 1));
}

/* The next nr_bytes of a column of texts, or NULL and failed. */
const uint8_t *columns_in_bytes(struct columns_in *in, unsigned int column, uint64_t nr_bytes);

#endif
