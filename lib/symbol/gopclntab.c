// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the line table of Go programs. */
#include "symbol/gopclntab.h"

#define MAGIC_GO_1_16 0xfffffffa
#define MAGIC_GO_1_18 0xfffffff0
#define MAGIC_GO_1_20 0xfffffff1

/* Larger than any function: bounds the search in a damaged table. */
#define MAX_RUN_BYTES (1 << 20)

/* The fixed part of a function's record: 4-byte fields after its entry. */
enum function_field {
	FIELD_NAME,
	FIELD_ARGUMENTS,
	FIELD_DEFER_RETURN,
	FIELD_PC_SP,
	FIELD_PC_FILE,
	FIELD_PC_LINE,
	FIELD_NR_PC_DATA,
	FIELD_UNIT,
};

static uint64_t pointer(const struct gopclntab *table, struct cursor *cursor)
{
	return cursor_fixed(cursor, table->pointer_bytes);
}

void gopclntab_init(struct gopclntab *table, struct dwarf_bytes bytes, uint64_t text_address)
{
	struct cursor cursor = dwarf_cursor_at(bytes, 0);
	uint32_t magic = cursor_u32(&cursor);

	*table = (struct gopclntab){.has_wide_entries = magic == MAGIC_GO_1_16};
	if (magic != MAGIC_GO_1_16 && magic != MAGIC_GO_1_18 && magic != MAGIC_GO_1_20)
		return;
	cursor_skip(&cursor, 2);
	table->pc_quantum = cursor_byte(&cursor);
	table->pointer_bytes = cursor_byte(&cursor);
	if (table->pointer_bytes != 4 && table->pointer_bytes != 8)
		return;
	table->nr_functions = pointer(table, &cursor);
	pointer(table, &cursor); /* number of files */
	if (!table->has_wide_entries) {
		table->text_start = pointer(table, &cursor);
		if (!table->text_start)
			table->text_start = text_address;
	}
	table->names = pointer(table, &cursor);
	table->units = pointer(table, &cursor);
	table->files = pointer(table, &cursor);
	table->pc_tables = pointer(table, &cursor);
	table->functions = pointer(table, &cursor);
	if (!cursor.failed && table->nr_functions < bytes.nr)
		table->bytes = bytes;
}

/* A row of the function table: the start of the function, and the place of its record. */
struct row {
	uint64_t entry, record;
	uint64_t next; /* start of the following code, once known */
};

static bool read_row(const struct gopclntab *table, uint64_t index, struct row *row)
{
	unsigned int nr_bytes = table->has_wide_entries ? table->pointer_bytes : 4;
	struct cursor cursor = dwarf_cursor_at(table->bytes, table->functions);

	cursor_skip(&cursor, index * 2 * nr_bytes);
	row->entry = table->text_start + cursor_fixed(&cursor, nr_bytes);
	row->record = table->functions + cursor_fixed(&cursor, nr_bytes);
	row->next = row->entry;
	return !cursor.failed;
}

/* The last row that begins at or before the address; the table ends with the end of the code. */
static bool find_row(const struct gopclntab *table, uint64_t address, struct row *row)
{
	uint64_t low = 0, high = table->nr_functions;
	struct row end;

	if (!read_row(table, high, &end) || address >= end.entry)
		return false;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!read_row(table, middle, row))
			return false;
		if (row->entry <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || !read_row(table, low, &end) || !read_row(table, low - 1, row))
		return false;
	row->next = end.entry;
	return true;
}

static uint32_t field(const struct gopclntab *table, const struct row *row,
		      enum function_field which)
{
	unsigned int entry_bytes = table->has_wide_entries ? table->pointer_bytes : 4;
	struct cursor cursor = dwarf_cursor_at(table->bytes, row->record);

	cursor_skip(&cursor, entry_bytes + 4 * (uint64_t)which);
	return cursor_u32(&cursor);
}

/* Zigzag, as in protocol buffers; a negative number in two's complement. */
static uint32_t signed_of(uint64_t value)
{
	return (uint32_t)((value >> 1) ^ (~(value & 1) + 1));
}

/*
 * The value at an address, from runs of (change of value, length), or -1. Also the first run's
 * value; for lines it is the line of the function's start.
 */
static int32_t value_at(const struct gopclntab *table, const struct row *row, uint32_t offset,
			uint64_t address, int32_t *first)
{
	struct cursor cursor;
	uint64_t pc = row->entry;
	uint32_t value = UINT32_MAX;

	*first = -1;
	if (offset == 0)
		return -1;
	cursor = dwarf_cursor_at(table->bytes, table->pc_tables);
	cursor_skip(&cursor, offset);
	if (cursor_left(&cursor) > MAX_RUN_BYTES)
		cursor.end = cursor.at + MAX_RUN_BYTES;
	while (!cursor.failed) {
		uint64_t change = cursor_padded_uleb(&cursor);

		if (change == 0 && pc != row->entry)
			return -1;
		value += signed_of(change);
		if (pc == row->entry)
			*first = (int32_t)value;
		pc += cursor_padded_uleb(&cursor) * table->pc_quantum;
		if (!cursor.failed && address < pc)
			return (int32_t)value;
	}
	return -1;
}

static const char *text_at(const struct gopclntab *table, uint64_t part, uint64_t offset)
{
	struct cursor cursor = dwarf_cursor_at(table->bytes, part);

	cursor_skip(&cursor, offset);
	return cursor_text(&cursor);
}

static const char *file_at(const struct gopclntab *table, const struct row *row, uint64_t address)
{
	int32_t first, number;
	uint32_t offset;
	struct cursor cursor;

	number = value_at(table, row, field(table, row, FIELD_PC_FILE), address, &first);
	if (number < 0)
		return NULL;
	cursor = dwarf_cursor_at(table->bytes, table->units);
	cursor_skip(&cursor, ((uint64_t)field(table, row, FIELD_UNIT) + (uint64_t)number) * 4);
	offset = cursor_u32(&cursor);
	if (cursor.failed || offset == UINT32_MAX)
		return NULL;
	return text_at(table, table->files, offset);
}

bool gopclntab_find(const struct gopclntab *table, uint64_t address, struct go_place *place)
{
	struct row row;
	int32_t line, first;

	if (!table->bytes.at || !find_row(table, address, &row))
		return false;
	*place = (struct go_place){
		.function = text_at(table, table->names, field(table, &row, FIELD_NAME)),
		.start = row.entry,
		.end = row.next,
	};
	if (!place->function || !*place->function)
		return false;
	place->file = file_at(table, &row, address);
	line = value_at(table, &row, field(table, &row, FIELD_PC_LINE), address, &first);
	place->line = line > 0 ? (uint32_t)line : 0;
	place->function_line = first > 0 ? (uint32_t)first : 0;
	return true;
}

bool gopclntab_start(const struct gopclntab *table, uint64_t index, uint64_t *address)
{
	struct row row;

	if (!table->bytes.at || !read_row(table, index, &row))
		return false;
	*address = row.entry;
	return true;
}
