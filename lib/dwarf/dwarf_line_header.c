// SPDX-License-Identifier: GPL-2.0-or-later
/* Parser for the headers of line tables, with their files and directories. */
#include <dwarf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "dwarf/dwarf_line.h"
#include "dwarf/line_header.h"

/* More kinds of columns than DW_LNCT_… has, vendors' included. */
#define MAX_COLUMNS 16

struct entry_format {
	uint64_t content[MAX_COLUMNS];
	struct abbrev_attribute form[MAX_COLUMNS];
	unsigned int nr;
};

static bool read_format(struct cursor *cursor, struct dwarf_encoding encoding,
			struct entry_format *format)
{
	format->nr = cursor_byte(cursor);
	if (format->nr > MAX_COLUMNS)
		return false;
	for (unsigned int i = 0; i < format->nr; i++) {
		uint64_t form;

		format->content[i] = cursor_padded_uleb(cursor);
		form = cursor_padded_uleb(cursor);
		if (form > UINT16_MAX)
			return false;
		format->form[i] = (struct abbrev_attribute){
			.form = (uint16_t)form,
			.step = abbrev_skip_step(form, encoding),
		};
	}
	return !cursor->failed;
}

static void add_name(struct line_names *names, const char *text, uint64_t directory)
{
	ARRAY_GROW(names->rows, names->nr, names->cap);
	names->rows[names->nr++] = (struct line_name){.text = text, .directory = directory};
}

/* A table of directories or files of version 5. */
static bool read_names_5(const struct dwarf_unit *unit, struct cursor *cursor,
			 struct line_names *names)
{
	struct entry_format format;
	uint64_t nr;

	if (!read_format(cursor, unit->encoding, &format))
		return false;
	nr = cursor_padded_uleb(cursor);
	/* An entry takes at least a byte, which bounds the count. */
	if (nr > cursor_left(cursor) || (nr && !format.nr))
		return false;
	for (uint64_t i = 0; i < nr; i++) {
		struct line_name name = {.text = NULL};

		for (unsigned int k = 0; k < format.nr; k++) {
			struct dwarf_value value;

			dwarf_read_value(unit, cursor, &format.form[k], &value);
			if (format.content[k] == DW_LNCT_path)
				name.text = dwarf_value_text(unit, &value);
			else if (format.content[k] == DW_LNCT_directory_index)
				name.directory = value.number;
		}
		if (cursor->failed)
			return false;
		add_name(names, name.text, name.directory);
	}
	return true;
}

/* Up to version 4: texts, an empty one ends; files are counted from 1. */
static bool read_names_4(struct cursor *cursor, struct line_names *names, bool files)
{
	add_name(names, NULL, 0);
	for (;;) {
		const char *text = cursor_text(cursor);
		uint64_t directory = 0;

		if (!text)
			return false;
		if (!*text)
			return true;
		if (files) {
			directory = cursor_padded_uleb(cursor);
			cursor_skip_leb(cursor); /* time of modification */
			cursor_skip_leb(cursor); /* size */
		}
		add_name(names, text, directory);
	}
}

static bool read_parameters(struct line_header *header, struct cursor *cursor)
{
	header->min_instruction_bytes = cursor_byte(cursor);
	if (header->version >= 4)
		cursor_byte(cursor); /* maximum operations: more than 1 only on VLIW machines */
	cursor_byte(cursor);	     /* default_is_stmt: every row counts here */
	header->line_base = (int8_t)cursor_byte(cursor);
	header->line_range = cursor_byte(cursor);
	header->opcode_base = cursor_byte(cursor);
	if (cursor->failed || header->line_range == 0 || header->opcode_base == 0)
		return false;
	for (unsigned int i = 1; i < header->opcode_base; i++)
		header->nr_operands[i] = cursor_byte(cursor);
	for (unsigned int i = header->opcode_base; i < 256; i++) {
		unsigned int special = i - header->opcode_base;

		header->special_advance[i] =
			(uint16_t)(special / header->line_range * header->min_instruction_bytes);
		header->special_line[i] =
			(int16_t)(header->line_base + (int)(special % header->line_range));
	}
	return !cursor->failed;
}

static bool read_header(struct dwarf_unit *unit, struct line_header *header)
{
	struct dwarf_bytes section = unit->file->sections[DWARF_LINE];
	struct cursor cursor = dwarf_cursor_at(section, unit->line_offset);
	uint64_t length = cursor_u32(&cursor);
	/* The forms of this table follow its own width, not the unit's. */
	struct dwarf_unit view = *unit;

	view.encoding.offset_bytes = 4;
	if (length == UINT32_MAX) {
		view.encoding.offset_bytes = 8;
		length = cursor_u64(&cursor);
	}
	if (cursor.failed || length > cursor_left(&cursor))
		return false;
	cursor.end = cursor.at + length;
	header->version = cursor_u16(&cursor);
	if (header->version < 2 || header->version > 5)
		return false;
	header->address_bytes = unit->encoding.address_bytes;
	if (header->version == 5) {
		header->address_bytes = cursor_byte(&cursor);
		cursor_byte(&cursor); /* segment selectors: none on our machines */
	}
	length = cursor_fixed(&cursor, view.encoding.offset_bytes);
	if (cursor.failed || length > cursor_left(&cursor) || !dwarf_file_work(unit->file, length))
		return false;
	header->program_offset = (uint64_t)(cursor.at - section.at) + length;
	header->nr_program_bytes = cursor_left(&cursor) - length;
	cursor.end = cursor.at + length;
	if (!read_parameters(header, &cursor))
		return false;
	if (header->version == 5)
		return read_names_5(&view, &cursor, &header->directories) &&
		       read_names_5(&view, &cursor, &header->files);
	return read_names_4(&cursor, &header->directories, false) &&
	       read_names_4(&cursor, &header->files, true);
}

const struct line_header *dwarf_unit_lines(struct dwarf_unit *unit)
{
	if (!unit->has_line_table)
		return NULL;
	if (!unit->lines) {
		unit->lines = xcalloc(1, sizeof(*unit->lines));
		unit->lines->usable = read_header(unit, unit->lines);
		if (!unit->lines->usable)
			unit->file->damaged = true;
	}
	return unit->lines->usable ? unit->lines : NULL;
}

/* "directory/name", or just the name where that is absolute or there is no directory. */
static void put_before(struct buf *path, const char *directory)
{
	struct buf whole = {.nr_bytes = 0};

	if (!directory || !*directory || buf_str(path)[0] == '/')
		return;
	buf_append_str(&whole, directory);
	if (directory[strlen(directory) - 1] != '/')
		buf_append_byte(&whole, '/');
	buf_append(&whole, path->bytes, path->nr_bytes);
	buf_release(path);
	*path = whole;
}

char *line_file_path(const struct dwarf_unit *unit, const struct line_header *header, uint64_t file)
{
	const struct line_name *name;
	struct buf path = {.nr_bytes = 0};
	char *copy;

	if (!header || file >= header->files.nr || !header->files.rows[file].text)
		return NULL;
	name = &header->files.rows[file];
	buf_append_str(&path, name->text);
	if (name->directory < header->directories.nr)
		put_before(&path, header->directories.rows[name->directory].text);
	put_before(&path, unit->directory);
	copy = xstrdup(buf_str(&path));
	buf_release(&path);
	return copy;
}
