/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STORE_COLUMNS_PRIV_H
#define PROFC_STORE_COLUMNS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/format_priv.h"

/*
 * The rows of one record, column by column: numbers as ULEB128, signed ones
 * zigzag. Equal fields of successive rows stand side by side, which is what a
 * general compressor needs to find them.
 */
struct columns_out {
	struct buf columns[COLUMNS_MAX];
	unsigned int nr_columns;
	uint64_t nr_rows;
};

void columns_out_release(struct columns_out *out);
/* Empty, with nr_columns columns; keeps the room of earlier use. */
void columns_out_begin(struct columns_out *out, unsigned int nr_columns);
void columns_out_uint(struct columns_out *out, unsigned int column, uint64_t value);
/* The difference value - reference, in wrapping 64-bit arithmetic, as a signed number. */
void columns_out_delta(struct columns_out *out, unsigned int column, uint64_t value,
		       uint64_t reference);
void columns_out_bytes(struct columns_out *out, unsigned int column, const void *bytes,
		       size_t nr_bytes);

/* Borrowed from the record's bytes. A column shorter than its rows makes reading it fail. */
struct columns_in {
	struct cursor columns[COLUMNS_MAX];
	uint64_t nr_rows;
	bool failed; /* a number above its bound was read */
};

/*
 * Take a record's payload apart. Fails unless it has at least nr_columns columns
 * (further ones are of a later version and left out) and each could hold its
 * rows.
 */
bool columns_in_open(struct columns_in *in, const uint8_t *payload, size_t nr_bytes,
		     unsigned int nr_columns);
/* True when a number was damaged, out of bounds, or a column ended early. */
bool columns_in_failed(const struct columns_in *in, unsigned int nr_columns);
uint64_t columns_in_uint(struct columns_in *in, unsigned int column);
/* At most max, else the columns have failed and 0 is returned. */
uint64_t columns_in_bounded(struct columns_in *in, unsigned int column, uint64_t max);
uint64_t columns_in_delta(struct columns_in *in, unsigned int column, uint64_t reference);
const uint8_t *columns_in_bytes(struct columns_in *in, unsigned int column, uint64_t nr_bytes);

#endif
