// SPDX-License-Identifier: GPL-2.0-or-later
/* Iterates over the entries of a unit. */
#include "dwarf/dwarf_walk.h"

#include <dwarf.h>

struct dwarf_walk dwarf_walk_at(struct dwarf_unit *unit, uint64_t offset)
{
	return (struct dwarf_walk){
		.unit = unit,
		.abbrevs = dwarf_unit_abbrevs(unit),
		.cursor = dwarf_unit_cursor(unit, offset),
		.unit_start = unit->at,
	};
}

void dwarf_walk_give_up(struct dwarf_walk *walk)
{
	walk->unit->file->damaged = true;
	cursor_fail(&walk->cursor);
}

static void skip_children(struct dwarf_walk *walk, const struct abbrev *abbrev)
{
	/* The address of a copy is not taken: it can stay in registers. */
	const struct abbrev_table *abbrevs = walk->abbrevs;
	const struct dwarf_encoding encoding = walk->unit->encoding;
	struct cursor cursor = walk->cursor;
	uint64_t depth = abbrev->has_children ? 1 : 0, nr = 0;

	while (depth && !cursor.failed) {
		uint64_t code = cursor_padded_uleb(&cursor);
		const struct abbrev *child;

		nr++;
		if (code == 0) {
			depth--;
			continue;
		}
		child = abbrev_table_find(abbrevs, code);
		if (!child) {
			walk->unit->file->damaged = true;
			cursor_fail(&cursor);
			break;
		}
		abbrev_skip(abbrevs, child, encoding, &cursor);
		depth += child->has_children;
	}
	walk->cursor = cursor;
	if (!dwarf_file_work(walk->unit->file, nr))
		dwarf_walk_give_up(walk);
}

/* Move over the attributes of an entry that has a sibling to that one, and read it. */
static bool read_sibling(struct dwarf_walk *walk, const struct abbrev *abbrev,
			 struct cursor *cursor, uint64_t *offset)
{
	const struct abbrev_attribute *attribute =
		walk->abbrevs->attributes + abbrev->first_attribute;
	struct dwarf_value value;
	struct dwarf_file *file;

	for (; attribute->name != DW_AT_sibling; attribute++)
		abbrev_skip_inline(attribute->step, walk->unit->encoding, cursor);
	dwarf_read_value(walk->unit, cursor, attribute, &value);
	return !cursor->failed && dwarf_value_reference(walk->unit, &value, &file, offset) &&
	       file == walk->unit->file && *offset >= walk->unit->offset &&
	       *offset <= walk->unit->end;
}

static bool jump_to_sibling(struct dwarf_walk *walk, const struct abbrev *abbrev)
{
	struct cursor cursor = walk->cursor;
	const uint8_t *target;
	uint64_t offset;

	if (!abbrev->has_children || !abbrev->has_sibling ||
	    !read_sibling(walk, abbrev, &cursor, &offset))
		return false;
	target = walk->unit_start + (offset - walk->unit->offset);
	if (target < cursor.at) /* only forwards, or the walk might never end */
		return false;
	walk->cursor.at = target;
	return true;
}

void dwarf_walk_skip_slowly(struct dwarf_walk *walk, const struct abbrev *abbrev)
{
	if (jump_to_sibling(walk, abbrev))
		return;
	dwarf_walk_skip_attributes(walk, abbrev);
	skip_children(walk, abbrev);
}
