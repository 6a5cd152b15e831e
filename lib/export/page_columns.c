// SPDX-License-Identifier: GPL-2.0-or-later
/* Columns of numbers for the page, and how bytes come into a page. */
#include "export/page_columns_priv.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "export/gzip_priv.h"

void page_columns_release(struct page_columns *columns)
{
	buf_release(&columns->bytes);
	free(columns->numbers);
	*columns = (struct page_columns){.nr = 0};
}

static void append_plane(struct page_columns *columns, const struct page_column *column,
			 unsigned int plane)
{
	uint8_t *bytes = xmalloc(column->nr);

	for (size_t i = 0; i < column->nr; i++)
		bytes[i] = (uint8_t)((columns->numbers[i] - column->least) >> (8 * plane));
	buf_append(&columns->bytes, bytes, column->nr);
	free(bytes);
}

void page_columns_finish(struct page_columns *columns)
{
	struct page_column *column;
	uint64_t most = 0;

	if (!columns->nr || !columns->columns[columns->nr - 1].nr)
		return;
	column = &columns->columns[columns->nr - 1];
	column->least = UINT64_MAX;
	for (size_t i = 0; i < column->nr; i++) {
		column->least = min_u64(column->least, columns->numbers[i]);
		most = max_u64(most, columns->numbers[i]);
	}
	for (uint64_t left = most - column->least; left; left >>= 8)
		append_plane(columns, column, column->nr_bytes++);
}

void page_columns_begin(struct page_columns *columns, const char *name)
{
	assert(columns->nr < PAGE_COLUMNS_MAX);
	page_columns_finish(columns);
	columns->columns[columns->nr++] = (struct page_column){.name = name};
}

void page_columns_add(struct page_columns *columns, uint64_t value)
{
	struct page_column *column = &columns->columns[columns->nr - 1];

	ARRAY_GROW(columns->numbers, column->nr, columns->cap_numbers);
	columns->numbers[column->nr++] = value;
}

void page_columns_add_signed(struct page_columns *columns, int64_t value)
{
	page_columns_add(columns, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

size_t page_columns_bytes(const struct page_columns *columns, size_t nr)
{
	size_t nr_bytes = 0;

	for (size_t i = 0; i < nr; i++)
		nr_bytes += columns->columns[i].nr * columns->columns[i].nr_bytes;
	return nr_bytes;
}

void page_columns_write_names(const struct page_columns *columns, struct json *json)
{
	json_key_array_begin(json, "columns");
	for (size_t i = 0; i < columns->nr; i++) {
		json_array_begin(json);
		json_str(json, columns->columns[i].name);
		json_u64(json, columns->columns[i].nr);
		json_u64(json, columns->columns[i].nr_bytes);
		json_u64(json, columns->columns[i].least);
		json_array_end(json);
	}
	json_array_end(json);
}

void page_write_packed(struct sink *sink, const void *bytes, size_t nr_bytes)
{
	struct sink packed = SINK_MEMORY;
	struct buf text = {0};

	gzip_write(&packed, bytes, nr_bytes);
	escape_base64(&text, packed.pending.bytes, packed.pending.nr_bytes);
	sink_write(sink, text.bytes, text.nr_bytes);
	buf_release(&text);
	sink_release(&packed);
}
