// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/columns_priv.h"

#include <assert.h>

void columns_out_release(struct columns_out *out)
{
	for (unsigned int i = 0; i < COLUMNS_MAX; i++)
		buf_release(&out->columns[i]);
	*out = (struct columns_out){0};
}

void columns_out_begin(struct columns_out *out, unsigned int nr_columns)
{
	assert(nr_columns <= COLUMNS_MAX);
	for (unsigned int i = 0; i < COLUMNS_MAX; i++)
		buf_clear(&out->columns[i]);
	out->nr_columns = nr_columns;
	out->nr_rows = 0;
}

void columns_out_uint(struct columns_out *out, unsigned int column, uint64_t value)
{
	buf_append_uleb(&out->columns[column], value);
}

void columns_out_delta(struct columns_out *out, unsigned int column, uint64_t value,
		       uint64_t reference)
{
	buf_append_sleb_zigzag(&out->columns[column], (int64_t)(value - reference));
}

void columns_out_bytes(struct columns_out *out, unsigned int column, const void *bytes,
		       size_t nr_bytes)
{
	buf_append(&out->columns[column], bytes, nr_bytes);
}

bool columns_in_open(struct columns_in *in, const uint8_t *payload, size_t nr_bytes,
		     unsigned int nr_columns)
{
	struct cursor cursor = cursor_over(payload, nr_bytes);
	uint64_t lengths[COLUMNS_MAX] = {0};
	uint64_t nr_in_file;

	assert(nr_columns <= COLUMNS_MAX);
	*in = (struct columns_in){.nr_rows = cursor_uleb(&cursor)};
	nr_in_file = cursor_uleb(&cursor);
	if (cursor.failed || nr_in_file < nr_columns || nr_in_file > cursor_left(&cursor))
		return false;
	for (uint64_t i = 0; i < nr_in_file; i++) {
		uint64_t length = cursor_uleb(&cursor);

		if (i < nr_columns)
			lengths[i] = length;
	}
	for (unsigned int i = 0; i < nr_columns; i++) {
		const uint8_t *bytes = cursor_bytes(&cursor, lengths[i]);

		if (!bytes)
			return false;
		in->columns[i] = cursor_over(bytes, lengths[i]);
	}
	/* Every row has a number in the first column, so the count cannot exceed its bytes. */
	return in->nr_rows <= lengths[0];
}

bool columns_in_failed(const struct columns_in *in, unsigned int nr_columns)
{
	bool failed = in->failed;

	for (unsigned int i = 0; i < nr_columns; i++)
		failed |= in->columns[i].failed;
	return failed;
}

uint64_t columns_in_uint(struct columns_in *in, unsigned int column)
{
	struct cursor *cursor = &in->columns[column];

	/* Most numbers are one byte; the general case is a loop. */
	if (cursor->at < cursor->end && *cursor->at < 0x80 && !cursor->failed)
		return *cursor->at++;
	return cursor_uleb(cursor);
}

uint64_t columns_in_bounded(struct columns_in *in, unsigned int column, uint64_t max)
{
	uint64_t value = columns_in_uint(in, column);

	if (value <= max)
		return value;
	in->failed = true;
	return 0;
}

uint64_t columns_in_delta(struct columns_in *in, unsigned int column, uint64_t reference)
{
	uint64_t zigzag = columns_in_uint(in, column);

	return reference + ((zigzag >> 1) ^ -(zigzag & 1));
}

const uint8_t *columns_in_bytes(struct columns_in *in, unsigned int column, uint64_t nr_bytes)
{
	return cursor_bytes(&in->columns[column], nr_bytes);
}
