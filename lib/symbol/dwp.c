// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads packages of split DWARF (.dwp). */
#include "symbol/dwp.h"

#include <libelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "elf/elf_open.h"
#include "elf/elf_section.h"
#include "symbol/debug_file.h"

struct dwp *dwp_open(const char *path, struct owner chooser, const atomic_bool *ended)
{
	int fd = open_regular_file(path, chooser);
	struct dwp *dwp;

	if (fd < 0)
		return NULL;
	dwp = xcalloc(1, sizeof(*dwp));
	dwp->fd = fd;
	dwp->elf = elf_open_sections(dwp->fd, ELF_C_READ_MMAP_PRIVATE);
	if (dwp->elf && dwarf_sections_read(dwp->elf, true, ended, &dwp->inflated, dwp->sections))
		dwp->index = dwarf_bytes_of(elf_section_bytes(dwp->elf, ".debug_cu_index"));
	return dwp;
}

void dwp_close(struct dwp *dwp)
{
	if (!dwp)
		return;
	elf_end(dwp->elf);
	inflated_sections_release(&dwp->inflated);
	close(dwp->fd);
	free(dwp);
}

/* The tables of the index, which follow one another (section 7.3.5.3). */
struct index_tables {
	unsigned int version;
	uint32_t nr_columns, nr_units, nr_slots;
	struct dwarf_bytes signatures; /* nr_slots of 8 bytes */
	struct dwarf_bytes rows;       /* nr_slots of 4 bytes, counted from 1; 0: empty */
	struct dwarf_bytes columns;    /* nr_columns of 4 bytes: which section */
	struct dwarf_bytes offsets;    /* nr_units rows of nr_columns of 4 bytes */
	struct dwarf_bytes sizes;
};

static struct dwarf_bytes take(struct cursor *cursor, uint64_t nr_bytes)
{
	struct dwarf_bytes bytes = {.at = cursor->at, .nr = nr_bytes};

	cursor_skip(cursor, nr_bytes);
	return bytes;
}

static bool read_tables(struct dwarf_bytes index, struct index_tables *tables)
{
	struct cursor cursor = dwarf_cursor_at(index, 0);
	uint64_t table_bytes;

	/*
	 * GNU's version 2 has 4 bytes; version 5 has 2 bytes and 2 of padding, which read the same.
	 */
	tables->version = cursor_u32(&cursor);
	tables->nr_columns = cursor_u32(&cursor);
	tables->nr_units = cursor_u32(&cursor);
	tables->nr_slots = cursor_u32(&cursor);
	if (cursor.failed || (tables->version != 2 && tables->version != 5) ||
	    tables->nr_columns > 16)
		return false;
	table_bytes = (uint64_t)tables->nr_units * tables->nr_columns * 4;
	tables->signatures = take(&cursor, (uint64_t)tables->nr_slots * 8);
	tables->rows = take(&cursor, (uint64_t)tables->nr_slots * 4);
	tables->columns = take(&cursor, (uint64_t)tables->nr_columns * 4);
	tables->offsets = take(&cursor, table_bytes);
	tables->sizes = take(&cursor, table_bytes);
	return !cursor.failed;
}

static uint32_t element(struct dwarf_bytes table, uint64_t index)
{
	struct cursor cursor = dwarf_cursor_at(table, index * 4);

	return cursor_u32(&cursor);
}

/* The row of a unit, from 0; false when it has none. Open addressing, as the standard says. */
static bool find_row(const struct index_tables *tables, uint64_t dwo_id, uint32_t *row)
{
	uint64_t mask = (uint64_t)tables->nr_slots - 1;
	uint64_t slot = dwo_id & mask, step = ((dwo_id >> 32) & mask) | 1;

	if (tables->nr_slots == 0 || (tables->nr_slots & mask))
		return false;
	for (uint32_t tries = 0; tries < tables->nr_slots; tries++) {
		struct cursor cursor = dwarf_cursor_at(tables->signatures, slot * 8);
		uint64_t signature = cursor_u64(&cursor);
		uint32_t number = element(tables->rows, slot);

		if (number == 0 || number > tables->nr_units)
			return false;
		if (signature == dwo_id) {
			*row = number - 1;
			return true;
		}
		slot = (slot + step) & mask;
	}
	return false;
}

/* DW_SECT_…: versions 2 and 5 have the same numbers for the sections read here, but range lists. */
static int section_of_column(const struct index_tables *tables, uint32_t column)
{
	switch (element(tables->columns, column)) {
	case 1:
		return DWARF_INFO;
	case 3:
		return DWARF_ABBREV;
	case 4:
		return DWARF_LINE;
	case 6:
		return DWARF_STR_OFFSETS;
	case 8:
		return tables->version == 5 ? DWARF_RNGLISTS : -1;
	}
	return -1;
}

bool dwp_find(const struct dwp *dwp, uint64_t dwo_id,
	      struct dwarf_bytes sections[DWARF_SECTION_COUNT])
{
	struct index_tables tables;
	uint32_t row;

	if (!dwp->index.at || !read_tables(dwp->index, &tables) || !find_row(&tables, dwo_id, &row))
		return false;
	for (int i = 0; i < DWARF_SECTION_COUNT; i++)
		sections[i] = dwp->sections[i];
	for (uint32_t column = 0; column < tables.nr_columns; column++) {
		uint64_t at = (uint64_t)row * tables.nr_columns + column;
		uint32_t offset = element(tables.offsets, at), nr = element(tables.sizes, at);
		int section = section_of_column(&tables, column);

		if (section < 0)
			continue;
		if (offset > sections[section].nr || nr > sections[section].nr - offset)
			return false;
		sections[section] = dwarf_tail(sections[section], offset);
		sections[section].nr = nr;
	}
	return true;
}
