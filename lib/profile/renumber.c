// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of one profile as another has them. */
#include "profile/renumber.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/profile.h"

uint32_t *renumbering_begin(struct renumbering *map, const struct profile *profile,
			    enum record_type type)
{
	map->rows[type] = xcalloc(schema_nr_rows(profile, type), sizeof(*map->rows[type]));
	return map->rows[type];
}

void renumbering_release(struct renumbering *map)
{
	for (unsigned int i = 0; i < RECORD_TYPE_COUNT; i++)
		free(map->rows[i]);
	*map = (struct renumbering){0};
}

static void shift(const struct renumbering *map, const struct schema_column *column,
		  uint8_t *member)
{
	uint64_t time_ns;

	memcpy(&time_ns, member, sizeof(time_ns));
	if (column->type == SCHEMA_END && !time_ns)
		return;
	time_ns += map->offset_ns;
	memcpy(member, &time_ns, sizeof(time_ns));
}

static void renumber_member(const struct renumbering *map, const struct schema_column *column,
			    uint8_t *member)
{
	const uint32_t *rows = map->rows[column->of];
	uint32_t row;

	memcpy(&row, member, sizeof(row));
	if (!rows || (column->type == SCHEMA_ROW_OR_NONE && row == UINT32_MAX))
		return;
	if (column->type != SCHEMA_ROW_PLUS_ONE)
		row = rows[row];
	else if (row)
		row = rows[row - 1] + 1;
	memcpy(member, &row, sizeof(row));
}

/* Merging does this for millions of rows: the widths of times and rows are known. */
void renumber(const struct renumbering *map, enum record_type type, void *row)
{
	const struct schema *schema = &schemas[type];

	for (unsigned int i = 0; i < schema->nr; i++) {
		const struct schema_column *column = &schema->columns[i];
		uint8_t *member = (uint8_t *)row + column->offset;

		if (column->type < SCHEMA_TIME || !column->nr_bytes)
			continue;
		if (column->type >= SCHEMA_ROW)
			renumber_member(map, column, member);
		else
			shift(map, column, member);
	}
}

void renumber_texts(struct profile *into, const struct profile *from, enum record_type type,
		    void *row)
{
	const struct schema *schema = &schemas[type];

	for (unsigned int i = 0; i < schema->nr; i++) {
		const struct schema_column *column = &schema->columns[i];
		struct str_id text = {(uint32_t)schema_load(column, row)};

		if (schema_is_text(column))
			schema_save(column, row, profile_intern(into, profile_str(from, text)).v);
	}
}
