// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of a profile as the schema has them. */
#include <string.h>

#include "base/alloc.h"
#include "profile/profile.h"
#include "profile/schema.h"
#include "tests/unit/unit.h"

static bool overlap(const struct schema_column *a, const struct schema_column *b)
{
	return a->offset < b->offset + b->nr_bytes && b->offset < a->offset + a->nr_bytes;
}

static void check_column(const struct schema *schema, const struct schema_column *column)
{
	bool is_row = column->type >= SCHEMA_ROW;

	assert_true(column->offset + column->nr_bytes <= schema->row_bytes || !column->nr_bytes);
	/* What is no member has a coder, and bytes never are one. */
	assert_true(column->nr_bytes || column->form >= SCHEMA_CODED);
	assert_false(column->nr_bytes && column->form == SCHEMA_CODED_BYTES);
	assert_true(!column->nr_bytes || !is_row || column->nr_bytes == sizeof(uint32_t));
	assert_true(!column->nr_bytes || !is_row || schemas[column->of].title);
	assert_true(column->type != SCHEMA_CHOICE || column->of > 0);
	for (const struct schema_column *other = schema->columns; other != column; other++) {
		assert_string_not_equal(other->name, column->name);
		assert_false(overlap(other, column));
	}
}

TEST(schema, columns_are_members_of_their_rows)
{
	unsigned int nr = 0;

	for (int type = 0; type < RECORD_TYPE_COUNT; type++) {
		const struct schema *schema = &schemas[type];

		if (!schema->title)
			continue;
		nr++;
		assert_in_range(schema->nr_old, 1, schema->nr);
		for (unsigned int i = 0; i < schema->nr; i++)
			check_column(schema, &schema->columns[i]);
	}
	assert_true(nr >= 30);
}

/* A value of a member in a row of which all other bytes are 0xaa. */
static void check_member(const struct schema_column *column, size_t row_bytes)
{
	uint8_t *row = xmalloc(row_bytes);
	const uint64_t value = UINT64_C(0x0102030405060708) >> 8 * (8 - column->nr_bytes);

	memset(row, 0xaa, row_bytes);
	schema_save(column, row, value);
	assert_int_equal(schema_load(column, row), value);
	for (size_t i = 0; i < row_bytes; i++)
		assert_true((i >= column->offset && i < column->offset + column->nr_bytes) ||
			    row[i] == 0xaa);
	free(row);
}

TEST(schema, saves_what_it_loads)
{
	for (int type = 0; type < RECORD_TYPE_COUNT; type++)
		for (unsigned int i = 0; i < schemas[type].nr; i++)
			if (schemas[type].columns[i].nr_bytes)
				check_member(&schemas[type].columns[i], schemas[type].row_bytes);
}
