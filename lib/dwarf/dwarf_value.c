// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads attribute values of DWARF entries. */
#include <dwarf.h>

#include "dwarf/dwarf_file.h"

static void read_block(struct cursor *cursor, struct dwarf_value *value, uint64_t nr)
{
	value->number = nr;
	cursor_skip(cursor, nr);
}

void dwarf_read_value(const struct dwarf_unit *unit, struct cursor *cursor,
		      const struct abbrev_attribute *attribute, struct dwarf_value *value)
{
	struct skip_step step = attribute->step;
	uint16_t form = attribute->form;

	if (form == DW_FORM_indirect) {
		uint64_t wide = cursor_padded_uleb(cursor);

		form = wide > UINT16_MAX ? UINT16_MAX : (uint16_t)wide;
		step = abbrev_skip_step(form, unit->encoding);
	}
	*value = (struct dwarf_value){.form = form};
	switch (step.kind) {
	case SKIP_FIXED:
		if (form == DW_FORM_implicit_const)
			value->number = (uint64_t)attribute->implicit_const;
		else if (form == DW_FORM_flag_present)
			value->number = 1;
		else if (step.nr_bytes > sizeof(value->number))
			cursor_skip(cursor, step.nr_bytes);
		else
			value->number = cursor_fixed(cursor, step.nr_bytes);
		break;
	case SKIP_LEB:
		value->number = form == DW_FORM_sdata ? (uint64_t)cursor_padded_sleb(cursor)
						      : cursor_padded_uleb(cursor);
		break;
	case SKIP_TEXT:
		value->text = cursor_text(cursor);
		break;
	case SKIP_BLOCK1:
		read_block(cursor, value, cursor_byte(cursor));
		break;
	case SKIP_BLOCK2:
		read_block(cursor, value, cursor_u16(cursor));
		break;
	case SKIP_BLOCK4:
		read_block(cursor, value, cursor_u32(cursor));
		break;
	case SKIP_BLOCK_LEB:
		read_block(cursor, value, cursor_padded_uleb(cursor));
		break;
	case SKIP_INDIRECT:
	case SKIP_UNKNOWN:
		cursor_fail(cursor);
		break;
	}
}

/* Element `index` of a table of numbers of nr_bytes each, from `base` on. */
static bool table_element(struct dwarf_bytes section, uint64_t base, uint64_t index,
			  unsigned int nr_bytes, uint64_t *element)
{
	struct cursor cursor;

	if (index > section.nr)
		return false;
	cursor = dwarf_cursor_at(section, base);
	cursor_skip(&cursor, index * nr_bytes);
	*element = cursor_fixed(&cursor, nr_bytes);
	return !cursor.failed;
}

static const char *indexed_text(const struct dwarf_unit *unit, uint64_t index)
{
	const struct dwarf_bytes *sections = unit->file->sections;
	uint64_t offset;

	if (!table_element(sections[DWARF_STR_OFFSETS], unit->str_offsets_base, index,
			   unit->encoding.offset_bytes, &offset))
		return NULL;
	return dwarf_text_at(sections[DWARF_STR], offset);
}

const char *dwarf_value_text(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	const struct dwarf_file *file = unit->file;

	switch (value->form) {
	case DW_FORM_string:
		return value->text;
	case DW_FORM_strp:
		return dwarf_text_at(file->sections[DWARF_STR], value->number);
	case DW_FORM_line_strp:
		return dwarf_text_at(file->sections[DWARF_LINE_STR], value->number);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return file->supplement
			       ? dwarf_text_at(file->supplement->sections[DWARF_STR], value->number)
			       : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return indexed_text(unit, value->number);
	}
	return NULL;
}

bool dwarf_value_address(const struct dwarf_unit *unit, const struct dwarf_value *value,
			 uint64_t *address)
{
	const struct dwarf_unit *owner = unit->skeleton ? unit->skeleton : unit;

	switch (value->form) {
	case DW_FORM_addr:
		*address = value->number;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return table_element(owner->file->sections[DWARF_ADDR], owner->addr_base,
				     value->number, unit->encoding.address_bytes, address);
	}
	return false;
}

bool dwarf_value_reference(const struct dwarf_unit *unit, const struct dwarf_value *value,
			   struct dwarf_file **file, uint64_t *offset)
{
	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (value->number > unit->end - unit->offset)
			return false;
		*file = unit->file;
		*offset = unit->offset + value->number;
		return true;
	case DW_FORM_ref_addr:
		*file = unit->file;
		*offset = value->number;
		return true;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		if (!unit->file->supplement)
			return false;
		*file = unit->file->supplement;
		*offset = value->number;
		return true;
	}
	return false; /* type signatures included: no function is named by one */
}
