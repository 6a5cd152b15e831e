// SPDX-License-Identifier: GPL-2.0-or-later
/* Encoder for the columns of a record. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/columns_priv.h"

void columns_out_release(struct columns_out *out)
{
	for (unsigned int i = 0; i < COLUMNS_MAX; i++) {
		free(out->columns[i].numbers);
		buf_release(&out->columns[i].bytes);
	}
	*out = (struct columns_out){0};
}

void columns_out_begin(struct columns_out *out, unsigned int nr_columns)
{
	assert(nr_columns <= COLUMNS_MAX);
	for (unsigned int i = 0; i < COLUMNS_MAX; i++) {
		out->columns[i].nr_numbers = 0;
		buf_clear(&out->columns[i].bytes);
	}
	out->nr_columns = nr_columns;
	out->nr_rows = 0;
}

void columns_out_uint(struct columns_out *out, unsigned int column, uint64_t value)
{
	struct column_out *self = &out->columns[column];

	ARRAY_GROW(self->numbers, self->nr_numbers, self->cap_numbers);
	self->numbers[self->nr_numbers++] = value;
}

void columns_out_delta(struct columns_out *out, unsigned int column, uint64_t value,
		       uint64_t reference)
{
	uint64_t difference = value - reference;

	columns_out_uint(out, column, difference << 1 ^ -(difference >> 63));
}

void columns_out_bytes(struct columns_out *out, unsigned int column, const void *bytes,
		       size_t nr_bytes)
{
	buf_append(&out->columns[column].bytes, bytes, nr_bytes);
}

static unsigned int nr_bytes_of(uint64_t value)
{
	unsigned int nr_bytes = 0;

	for (; value; value >>= 8)
		nr_bytes++;
	return nr_bytes;
}

static void append_head(const struct column_plan *plan, struct buf *out)
{
	buf_append_byte(out, (uint8_t)(plan->width | (plan->sparse ? COLUMN_SPARSE : 0)));
	buf_append_uleb(out, plan->base);
}

static size_t head_bytes(uint64_t base)
{
	size_t nr_bytes = 2;

	for (; base >= 0x80; base >>= 7)
		nr_bytes++;
	return nr_bytes;
}

struct column_plan column_plan(const struct column_out *column)
{
	struct column_plan plan = {.base = UINT64_MAX};
	size_t bitmap_bytes = (column->nr_numbers + 7) / 8;
	uint64_t max = 0;
	size_t nr_other = 0;

	if (!column->nr_numbers) { /* texts */
		plan.nr_bytes = column->bytes.nr_bytes;
		return plan;
	}
	for (size_t i = 0; i < column->nr_numbers; i++) {
		if (column->numbers[i] < plan.base)
			plan.base = column->numbers[i];
		if (column->numbers[i] > max)
			max = column->numbers[i];
	}
	for (size_t i = 0; i < column->nr_numbers; i++)
		nr_other += column->numbers[i] != plan.base;
	plan.width = nr_bytes_of(max - plan.base);
	plan.sparse = bitmap_bytes + nr_other * plan.width < column->nr_numbers * plan.width;
	plan.nr_stored = plan.sparse ? nr_other : column->nr_numbers;
	plan.nr_bytes = head_bytes(plan.base) + (plan.sparse ? bitmap_bytes : 0) +
			plan.nr_stored * plan.width;
	return plan;
}

static void append_bitmap(const struct column_out *column, uint64_t base, struct buf *out)
{
	size_t nr_bytes = (column->nr_numbers + 7) / 8;
	uint8_t *bitmap = buf_extend(out, nr_bytes);

	memset(bitmap, 0, nr_bytes);
	for (size_t i = 0; i < column->nr_numbers; i++) {
		if (column->numbers[i] != base)
			bitmap[i / 8] |= (uint8_t)(1U << i % 8);
	}
}

static void append_plane(const struct column_out *column, const struct column_plan *plan,
			 unsigned int plane, struct buf *out)
{
	uint8_t *at = buf_extend(out, plan->nr_stored);

	for (size_t i = 0; i < column->nr_numbers; i++) {
		if (!plan->sparse || column->numbers[i] != plan->base)
			*at++ = (uint8_t)((column->numbers[i] - plan->base) >> 8 * plane);
	}
}

unsigned int column_nr_parts(const struct column_plan *plan)
{
	return 2 + plan->width;
}

void column_append_part(const struct column_out *column, const struct column_plan *plan,
			unsigned int part, struct buf *out)
{
	if (!column->nr_numbers) {
		if (part == 0)
			buf_append(out, column->bytes.bytes, column->bytes.nr_bytes);
	} else if (part == 0) {
		append_head(plan, out);
	} else if (part == 1) {
		if (plan->sparse)
			append_bitmap(column, plan->base, out);
	} else {
		append_plane(column, plan, part - 2, out);
	}
}
