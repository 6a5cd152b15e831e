/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns of numbers, one after the other, as the page of --html reads them. */
#ifndef PROFC_EXPORT_PAGE_COLUMNS_PRIV_H
#define PROFC_EXPORT_PAGE_COLUMNS_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct json;
struct sink;

#define PAGE_COLUMNS_MAX 80

struct page_column {
	const char *name; /* borrowed */
	size_t nr;
	uint64_t least;
	unsigned int nr_bytes; /* of a number */
};

/*
 * Zero-initialised is empty. A column stores the difference of each number from the least one, in
 * as many bytes as the largest difference needs, and in planes: first the lowest bytes of all
 * numbers, then the next ones. Signed numbers are zigzag.
 *
 * Planes are quicker to read than whole numbers, and compress better: upper bytes are mostly alike.
 */
struct page_columns {
	struct buf bytes; /* owned: all finished columns */
	struct page_column columns[PAGE_COLUMNS_MAX];
	size_t nr;
	uint64_t *numbers; /* private: of the last column */
	size_t cap_numbers;
};

void page_columns_release(struct page_columns *columns);
/* The numbers that follow are those of a new column. The name lives as long as the columns. */
void page_columns_begin(struct page_columns *columns, const char *name);
void page_columns_add(struct page_columns *columns, uint64_t value);
void page_columns_add_signed(struct page_columns *columns, int64_t value);
/* After the last number of the last column. */
void page_columns_finish(struct page_columns *columns);
/*
 * Member "columns" of the open object: [name, how many numbers, bytes of one, the least] of each,
 * in their order.
 */
void page_columns_write_names(const struct page_columns *columns, struct json *json);

/* How long the first ones are, after the last number of the last column. */
size_t page_columns_bytes(const struct page_columns *columns, size_t nr);

/* The contents of a text block of a page: the bytes, compressed (gzip), in base64. */
void page_write_packed(struct sink *sink, const void *bytes, size_t nr_bytes);

#endif
