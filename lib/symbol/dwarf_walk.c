// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/dwarf_walk.h"

struct dwarf_walk dwarf_walk_at(struct dwarf_unit *unit, uint64_t offset)
{
	return (struct dwarf_walk){
		.unit = unit,
		.abbrevs = dwarf_unit_abbrevs(unit),
		.cursor = dwarf_unit_cursor(unit, offset),
	};
}

void dwarf_walk_give_up(struct dwarf_walk *walk)
{
	walk->unit->file->damaged = true;
	dwarf_fail(&walk->cursor);
}

static void skip_children(struct dwarf_walk *walk, const struct abbrev *abbrev)
{
	uint64_t depth = abbrev->has_children ? 1 : 0, nr = 0;

	while (depth && !walk->cursor.failed) {
		uint64_t code = dwarf_uleb(&walk->cursor);
		const struct abbrev *child;

		nr++;
		if (code == 0) {
			depth--;
			continue;
		}
		child = abbrev_table_find(walk->abbrevs, code);
		if (!child) {
			dwarf_walk_give_up(walk);
			break;
		}
		dwarf_walk_skip_attributes(walk, child);
		depth += child->has_children;
	}
	if (!dwarf_file_work(walk->unit->file, nr))
		dwarf_walk_give_up(walk);
}

static bool jump_to_sibling(struct dwarf_walk *walk, const struct abbrev *abbrev)
{
	const struct abbrev_attribute attribute = {.form = abbrev->sibling_form};
	struct dwarf_cursor cursor = walk->cursor;
	const uint8_t *target;
	struct dwarf_value value;
	struct dwarf_file *file;
	uint64_t offset;

	if (!abbrev->has_children || abbrev->sibling_at < 0)
		return false;
	dwarf_skip(&cursor, (uint64_t)abbrev->sibling_at);
	dwarf_read_value(walk->unit, &cursor, &attribute, &value);
	if (cursor.failed || !dwarf_value_reference(walk->unit, &value, &file, &offset) ||
	    file != walk->unit->file || offset > walk->unit->end)
		return false;
	target = file->sections[DWARF_INFO].at + offset;
	if (target < cursor.at) /* only forwards, or the walk might never end */
		return false;
	walk->cursor.at = target;
	return true;
}

void dwarf_walk_skip_entry(struct dwarf_walk *walk, const struct abbrev *abbrev)
{
	if (jump_to_sibling(walk, abbrev))
		return;
	dwarf_walk_skip_attributes(walk, abbrev);
	skip_children(walk, abbrev);
}
