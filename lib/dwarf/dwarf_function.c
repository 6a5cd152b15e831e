// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the attributes of a function entry, through its origin and specification. */
#include "dwarf/dwarf_function.h"

#include <dwarf.h>

/* Instance, abstract instance, definition, declaration: four, with room for partial units. */
#define MAX_HOPS 8

/* The attributes that refer to the rest of a definition. */
struct next_entry {
	struct dwarf_value origin, specification;
};

/* Only the first is one; the text itself is looked for when the entries have been read. */
static void take_name(struct dwarf_unit *unit, uint64_t offset, const struct dwarf_value *value,
		      struct dwarf_function *function, struct dwarf_value *name)
{
	if (name->form)
		return;
	*name = *value;
	function->name_unit = unit;
	function->name_offset = offset;
}

/* An empty name is none. */
static const char *name_text(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	const char *text = dwarf_value_text(unit, value);

	return text && *text ? text : NULL;
}

static void take_value(struct dwarf_unit *unit, struct dwarf_function *function,
		       struct next_entry *next, uint16_t attribute, const struct dwarf_value *value)
{
	switch (attribute) {
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		if (!function->linkage_name)
			function->linkage_name = name_text(unit, value);
		break;
	case DW_AT_decl_file:
		if (!function->decl_unit) {
			function->decl_unit = unit;
			function->decl_file = value->number;
		}
		break;
	case DW_AT_decl_line:
		if (!function->decl_line && value->number <= UINT32_MAX)
			function->decl_line = (uint32_t)value->number;
		break;
	case DW_AT_decl_column:
		if (!function->decl_column && value->number <= UINT32_MAX)
			function->decl_column = (uint32_t)value->number;
		break;
	case DW_AT_external:
		function->is_external |= value->number != 0;
		break;
	case DW_AT_abstract_origin:
		next->origin = *value;
		break;
	case DW_AT_specification:
		next->specification = *value;
		break;
	}
}

/* Read one entry; false if it refers to no further one. */
static bool read_one(struct dwarf_file **file, uint64_t *offset, struct dwarf_function *function,
		     struct dwarf_value *name)
{
	const uint64_t start = *offset;
	struct dwarf_unit *unit = dwarf_file_unit_at(*file, start);
	const struct abbrev_table *table;
	const struct abbrev *abbrev;
	struct cursor cursor;
	struct next_entry next = {.origin.form = 0};

	if (!unit)
		return false;
	table = dwarf_unit_abbrevs(unit);
	cursor = dwarf_unit_cursor(unit, start);
	abbrev = abbrev_table_find(table, cursor_padded_uleb(&cursor));
	for (uint32_t i = 0; abbrev && i < abbrev->nr_attributes; i++) {
		const struct abbrev_attribute *attribute =
			&table->attributes[abbrev->first_attribute + i];
		struct dwarf_value value;

		dwarf_read_value(unit, &cursor, attribute, &value);
		if (cursor.failed)
			return false;
		if (attribute->name == DW_AT_name)
			take_name(unit, start, &value, function, name);
		else
			take_value(unit, function, &next, attribute->name, &value);
	}
	if (next.origin.form)
		return dwarf_value_reference(unit, &next.origin, file, offset);
	return next.specification.form &&
	       dwarf_value_reference(unit, &next.specification, file, offset);
}

void dwarf_read_function(struct dwarf_file *file, uint64_t offset, struct dwarf_function *function)
{
	struct dwarf_value name = {.form = 0};

	*function = (struct dwarf_function){.name = NULL};
	for (int hop = 0; hop < MAX_HOPS; hop++) {
		if (!read_one(&file, &offset, function, &name))
			break;
	}
	if (name.form)
		function->own_name = name_text(function->name_unit, &name);
	if (!function->linkage_name)
		function->name = function->own_name;
}
