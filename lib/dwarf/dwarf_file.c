// SPDX-License-Identifier: GPL-2.0-or-later
/* The DWARF sections and units of one file. */
#include "dwarf/dwarf_file.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "dwarf/line_header.h"

struct abbrev_slot {
	uint64_t offset;
	struct dwarf_encoding encoding;
	struct abbrev_table *table;
};

/*
 * The length that begins a unit: 4 bytes, or 12 in 64-bit DWARF (section 7.4).
 * The cursor's end is moved to the unit's.
 */
static bool read_unit_length(struct cursor *cursor, uint8_t *offset_bytes)
{
	uint64_t length = cursor_u32(cursor);

	*offset_bytes = 4;
	if (length == UINT32_MAX) {
		*offset_bytes = 8;
		length = cursor_u64(cursor);
	} else if (length >= 0xfffffff0) {
		return false; /* reserved */
	}
	if (cursor->failed || length > cursor_left(cursor))
		return false;
	cursor->end = cursor->at + length;
	return true;
}

/* Section 7.5.1. */
static bool read_unit_header(struct dwarf_unit *unit, struct cursor *cursor)
{
	struct dwarf_encoding *encoding = &unit->encoding;
	uint8_t type = DW_UT_compile;

	encoding->version = cursor_u16(cursor);
	if (encoding->version < 2 || encoding->version > 5)
		return false;
	if (encoding->version == 5) {
		type = cursor_byte(cursor);
		encoding->address_bytes = cursor_byte(cursor);
		unit->abbrev_offset = cursor_fixed(cursor, encoding->offset_bytes);
	} else {
		unit->abbrev_offset = cursor_fixed(cursor, encoding->offset_bytes);
		encoding->address_bytes = cursor_byte(cursor);
	}
	if (type == DW_UT_skeleton || type == DW_UT_split_compile)
		unit->dwo_id = cursor_u64(cursor);
	else if (type == DW_UT_type || type == DW_UT_split_type)
		cursor_skip(cursor, 8 + (uint64_t)encoding->offset_bytes);
	return !cursor->failed && (encoding->address_bytes == 4 || encoding->address_bytes == 8);
}

/* Far more than the largest programs have; a unit of some bytes of a file takes ten times that. */
#define UNITS_MAX ((size_t)1 << 21)

static void read_units(struct dwarf_file *file)
{
	struct dwarf_bytes info = file->sections[DWARF_INFO];
	uint64_t offset = 0;

	while (offset < info.nr) {
		struct cursor cursor = dwarf_cursor_at(info, offset);
		struct dwarf_unit unit = {.file = file, .offset = offset, .at = info.at + offset};

		if (file->nr_units == UNITS_MAX ||
		    !read_unit_length(&cursor, &unit.encoding.offset_bytes)) {
			file->damaged = true;
			return;
		}
		unit.end = (uint64_t)(cursor.end - info.at);
		if (read_unit_header(&unit, &cursor)) {
			unit.first_entry = (uint64_t)(cursor.at - info.at);
			ARRAY_GROW(file->units, file->nr_units, file->cap_units);
			file->units[file->nr_units++] = unit;
		} else {
			file->damaged = true;
		}
		offset = unit.end;
	}
}

void dwarf_file_renew_work(struct dwarf_file *file)
{
	uint64_t bytes = 0;

	for (int i = 0; i < DWARF_SECTION_COUNT; i++)
		bytes += file->sections[i].nr;
	/* Entries and ranges take at least a byte each, and few are read more than twice. */
	file->work_left = 8 * bytes + 1000;
}

void dwarf_file_init(struct dwarf_file *file,
		     const struct dwarf_bytes sections[DWARF_SECTION_COUNT])
{
	*file = (struct dwarf_file){.fd = -1};
	for (int i = 0; i < DWARF_SECTION_COUNT; i++)
		file->sections[i] = sections[i];
	dwarf_file_renew_work(file);
	read_units(file);
}

void dwarf_file_forget_abbrevs(struct dwarf_file *file)
{
	for (size_t i = 0; i < file->nr_abbrevs; i++)
		abbrev_table_free(file->abbrevs[i].table);
	free(file->abbrevs);
	index_set_release(&file->abbrev_index);
	file->abbrevs = NULL;
	file->nr_abbrevs = file->cap_abbrevs = 0;
	/* To compile one again is no damage of the file. */
	dwarf_file_renew_work(file);
}

void dwarf_file_release(struct dwarf_file *file)
{
	for (size_t i = 0; i < file->nr_units; i++)
		line_header_free(file->units[i].lines);
	dwarf_file_forget_abbrevs(file);
	free(file->units);
	free(file->scratch);
	*file = (struct dwarf_file){.fd = -1};
}

void dwarf_file_init_like(struct dwarf_file *file, const struct dwarf_file *other)
{
	*file = (struct dwarf_file){
		.fd = other->fd, .relocatable = other->relocatable, .ended = other->ended};
	memcpy(file->sections, other->sections, sizeof(file->sections));
	dwarf_file_renew_work(file);
	file->units = xmemdup(other->units, other->nr_units * sizeof(*other->units));
	file->nr_units = file->cap_units = other->nr_units;
	for (size_t i = 0; i < file->nr_units; i++) {
		file->units[i].file = file;
		file->units[i].lines = NULL;
	}
}

struct cursor dwarf_unit_cursor(const struct dwarf_unit *unit, uint64_t offset)
{
	if (offset < unit->first_entry || offset > unit->end)
		return cursor_failed();
	return (struct cursor){
		.at = unit->at + (offset - unit->offset),
		.end = unit->at + (unit->end - unit->offset),
	};
}

/* Above this size page faults of a mapping cost more than reading. */
#define MIN_READ_BYTES (1 << 16)
/* A unit this large is often read in part only, and a copy would not fit a cache. */
#define MAX_READ_BYTES (32 << 20)

static bool read_at(int fd, uint8_t *to, size_t nr, uint64_t offset)
{
	while (nr) {
		ssize_t nr_read = pread(fd, to, nr, (off_t)offset);

		if (nr_read < 0 && errno == EINTR)
			continue;
		if (nr_read <= 0)
			return false;
		to += nr_read;
		nr -= (size_t)nr_read;
		offset += (uint64_t)nr_read;
	}
	return true;
}

struct dwarf_bytes dwarf_file_read(struct dwarf_file *file, enum dwarf_section section,
				   uint64_t offset, uint64_t nr)
{
	const struct dwarf_bytes whole = file->sections[section];
	struct dwarf_bytes bytes = dwarf_tail(whole, offset);

	bytes.nr = nr;
	if (file->fd < 0 || !whole.file_offset || nr < MIN_READ_BYTES || nr > MAX_READ_BYTES)
		return bytes;
	if (nr > file->nr_scratch_bytes) {
		free(file->scratch);
		file->nr_scratch_bytes = nr + nr / 4;
		file->scratch = xmalloc(file->nr_scratch_bytes);
	}
	if (!read_at(file->fd, file->scratch, nr, whole.file_offset + offset)) {
		file->damaged = true; /* cut short meanwhile */
		memset(file->scratch, 0, nr);
	}
	bytes.at = file->scratch;
	return bytes;
}

void dwarf_unit_load(struct dwarf_unit *unit)
{
	unit->at =
		dwarf_file_read(unit->file, DWARF_INFO, unit->offset, unit->end - unit->offset).at;
}

void dwarf_unit_unload(struct dwarf_unit *unit)
{
	unit->at = unit->file->sections[DWARF_INFO].at + unit->offset;
}

struct dwarf_unit *dwarf_file_unit_at(struct dwarf_file *file, uint64_t offset)
{
	size_t low = 0, high = file->nr_units;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->units[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == file->nr_units || offset < file->units[low].first_entry)
		return NULL;
	return &file->units[low];
}

static bool same_encoding(struct dwarf_encoding a, struct dwarf_encoding b)
{
	return a.version == b.version && a.address_bytes == b.address_bytes &&
	       a.offset_bytes == b.offset_bytes;
}

static bool abbrev_slot_equal(const void *owner, uint32_t index, const void *key)
{
	const struct dwarf_file *file = owner;
	const struct abbrev_slot *slot = &file->abbrevs[index], *wanted = key;

	return slot->offset == wanted->offset && same_encoding(slot->encoding, wanted->encoding);
}

const struct abbrev_table *dwarf_unit_abbrevs(const struct dwarf_unit *unit)
{
	struct dwarf_file *file = unit->file;
	struct abbrev_slot slot = {.offset = unit->abbrev_offset, .encoding = unit->encoding};
	uint64_t hash = hash_u64(slot.offset);
	uint32_t index = index_set_find(&file->abbrev_index, hash, abbrev_slot_equal, file, &slot);

	if (index != INDEX_NONE)
		return file->abbrevs[index].table;
	slot.table = abbrev_table_new(file->sections[DWARF_ABBREV], slot.offset, slot.encoding);
	dwarf_file_work(file, slot.table->nr_attributes);
	ARRAY_GROW(file->abbrevs, file->nr_abbrevs, file->cap_abbrevs);
	index_set_add(&file->abbrev_index, hash, (uint32_t)file->nr_abbrevs);
	file->abbrevs[file->nr_abbrevs++] = slot;
	return slot.table;
}

/* Values of the root entry that cannot be understood before all of it was read. */
struct root_values {
	struct dwarf_value name, directory, dwo_name;
};

static void take_root_value(struct dwarf_unit *unit, struct root_values *later, uint16_t attribute,
			    const struct dwarf_value *value)
{
	switch (attribute) {
	case DW_AT_low_pc:
		unit->pcs.low_pc = *value;
		break;
	case DW_AT_high_pc:
		unit->pcs.high_pc = *value;
		break;
	case DW_AT_ranges:
		unit->pcs.ranges = *value;
		break;
	case DW_AT_name:
		later->name = *value;
		break;
	case DW_AT_comp_dir:
		later->directory = *value;
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		later->dwo_name = *value;
		break;
	case DW_AT_GNU_dwo_id:
		unit->dwo_id = value->number;
		break;
	case DW_AT_language:
		unit->language = value->number > UINT16_MAX ? 0 : (uint16_t)value->number;
		break;
	case DW_AT_stmt_list:
		unit->line_offset = value->number;
		unit->has_line_table = true;
		break;
	case DW_AT_str_offsets_base:
		unit->str_offsets_base = value->number;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		unit->addr_base = value->number;
		break;
	case DW_AT_rnglists_base:
		unit->rnglists_base = value->number;
		break;
	case DW_AT_GNU_ranges_base:
		unit->ranges_base = value->number;
		break;
	}
}

static void read_root_by(struct dwarf_unit *unit, const struct abbrev_table *table,
			 const struct abbrev *abbrev, struct cursor cursor)
{
	struct root_values later = {.name.form = 0};
	struct dwarf_value value;

	if (!abbrev) {
		unit->file->damaged = true;
		return;
	}
	for (uint32_t i = 0; i < abbrev->nr_attributes; i++) {
		const struct abbrev_attribute *attribute =
			&table->attributes[abbrev->first_attribute + i];

		dwarf_read_value(unit, &cursor, attribute, &value);
		take_root_value(unit, &later, attribute->name, &value);
	}
	if (cursor.failed) {
		unit->file->damaged = true;
		return;
	}
	unit->root_tag = abbrev->tag;
	unit->root_has_children = abbrev->has_children;
	unit->name = dwarf_value_text(unit, &later.name);
	unit->directory = dwarf_value_text(unit, &later.directory);
	unit->dwo_name = dwarf_value_text(unit, &later.dwo_name);
	if (!dwarf_value_address(unit, &unit->pcs.low_pc, &unit->low_pc))
		unit->low_pc = 0;
}

/* Most units need nothing else: their abbreviation tables are not read completely. */
static void read_root(struct dwarf_unit *unit)
{
	struct dwarf_file *file = unit->file;
	struct cursor cursor = dwarf_unit_cursor(unit, unit->first_entry);
	uint64_t code = cursor_padded_uleb(&cursor);
	struct abbrev_table *table;

	if (cursor.failed || !dwarf_file_work(file, 1)) {
		file->damaged = true;
		return;
	}
	table = abbrev_table_new_until(file->sections[DWARF_ABBREV], unit->abbrev_offset,
				       unit->encoding, code);
	dwarf_file_work(file, table->nr_rows + table->nr_attributes);
	read_root_by(unit, table, abbrev_table_find(table, code), cursor);
	abbrev_table_free(table);
}

void dwarf_file_read_roots(struct dwarf_file *file)
{
	for (size_t i = 0; i < file->nr_units; i++)
		read_root(&file->units[i]);
}
