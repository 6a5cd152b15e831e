// SPDX-License-Identifier: GPL-2.0-or-later
/* The columns of a schema that need no coder of their table. */
#include "store/schema_coder_priv.h"

#include "store/bounds_priv.h"
#include "store/columns_priv.h"

static bool is_coded(const struct schema_column *column)
{
	return column->form >= SCHEMA_CODED;
}

/* A member as files have it, but for the form. */
static uint64_t value_of(const struct schema_column *column, const void *row)
{
	uint64_t value = schema_load(column, row);

	if (column->type == SCHEMA_ROW_OR_NONE) /* UINT32_MAX wraps to 0 */
		return (uint32_t)(value + 1);
	return column->type == SCHEMA_SIGNED ? (uint64_t)(int32_t)value : value;
}

void schema_put(enum record_type type, struct columns_out *out, const void *row, const void *before)
{
	const struct schema *schema = &schemas[type];

	for (unsigned int i = 0; i < schema->nr; i++) {
		const struct schema_column *column = &schema->columns[i];

		if (is_coded(column))
			continue;
		if (column->form == SCHEMA_DIFFERENCE)
			columns_out_delta(out, i, value_of(column, row), value_of(column, before));
		else if (column->type == SCHEMA_SIGNED)
			columns_out_delta(out, i, value_of(column, row), 0);
		else
			columns_out_uint(out, i, value_of(column, row));
	}
}

static uint64_t read_value(const struct schema_column *column, unsigned int number,
			   const struct columns_in *in, const void *before)
{
	if (column->form == SCHEMA_DIFFERENCE)
		return columns_in_delta(in, number, value_of(column, before));
	return column->type == SCHEMA_SIGNED ? columns_in_delta(in, number, 0)
					     : columns_in_uint(in, number);
}

static bool is_in_bounds(const struct schema_column *column, const struct profile *profile,
			 uint64_t value)
{
	enum record_type table = (enum record_type)column->of;

	switch ((enum schema_type)column->type) {
	case SCHEMA_NUMBER:
	case SCHEMA_NS:
		return column->nr_bytes == sizeof(value) || !(value >> 8 * column->nr_bytes);
	case SCHEMA_SIGNED:
	case SCHEMA_FLAGS:
		break;
	case SCHEMA_SPAN:
	case SCHEMA_TIME:
	case SCHEMA_END:
		return value <= TIME_MAX_NS;
	case SCHEMA_CHOICE:
		return value < column->of;
	case SCHEMA_PID:
		return value <= INT32_MAX;
	case SCHEMA_ROW:
		return value < schema_nr_rows(profile, table);
	case SCHEMA_ROW_OR_NONE:
	case SCHEMA_ROW_PLUS_ONE:
		return value <= schema_nr_rows(profile, table);
	}
	return true;
}

bool schema_take(enum record_type type, const struct columns_in *in, const struct profile *profile,
		 void *row, const void *before)
{
	const struct schema *schema = &schemas[type];

	for (unsigned int i = 0; i < schema->nr; i++) {
		const struct schema_column *column = &schema->columns[i];
		uint64_t value;

		if (is_coded(column))
			continue;
		value = read_value(column, i, in, before);
		if (!is_in_bounds(column, profile, value))
			return false;
		if (column->type == SCHEMA_FLAGS)
			value &= column->of;
		schema_save(column, row, value - (column->type == SCHEMA_ROW_OR_NONE));
	}
	return true;
}
