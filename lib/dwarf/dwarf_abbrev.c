// SPDX-License-Identifier: GPL-2.0-or-later
/* Compiles abbreviation tables, and skips entries by them. */
#include "dwarf/dwarf_abbrev.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/alloc.h"

static struct skip_step fixed(uint32_t nr_bytes)
{
	return (struct skip_step){.kind = SKIP_FIXED, .nr_bytes = nr_bytes & SKIP_BYTES_MAX};
}

/* DWARF 5 section 7.5.6, and the GNU forms of split DWARF and dwz. */
struct skip_step abbrev_skip_step(uint64_t form, struct dwarf_encoding encoding)
{
	switch (form) {
	case DW_FORM_implicit_const:
	case DW_FORM_flag_present:
		return fixed(0);
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return fixed(1);
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return fixed(2);
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return fixed(3);
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return fixed(4);
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return fixed(8);
	case DW_FORM_data16:
		return fixed(16);
	case DW_FORM_addr:
		return fixed(encoding.address_bytes);
	case DW_FORM_ref_addr: /* DWARF 2 gave it the size of an address */
		return fixed(encoding.version == 2 ? encoding.address_bytes
						   : encoding.offset_bytes);
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return fixed(encoding.offset_bytes);
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_str_index:
	case DW_FORM_GNU_addr_index:
		return (struct skip_step){.kind = SKIP_LEB};
	case DW_FORM_string:
		return (struct skip_step){.kind = SKIP_TEXT};
	case DW_FORM_block1:
		return (struct skip_step){.kind = SKIP_BLOCK1};
	case DW_FORM_block2:
		return (struct skip_step){.kind = SKIP_BLOCK2};
	case DW_FORM_block4:
		return (struct skip_step){.kind = SKIP_BLOCK4};
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return (struct skip_step){.kind = SKIP_BLOCK_LEB};
	case DW_FORM_indirect:
		return (struct skip_step){.kind = SKIP_INDIRECT};
	}
	return (struct skip_step){.kind = SKIP_UNKNOWN};
}

static void add_step(struct abbrev_table *table, struct abbrev *row, struct skip_step step)
{
	struct skip_step *last = row->nr_steps ? &table->steps[table->nr_steps - 1] : NULL;

	if (step.kind == SKIP_FIXED) {
		if (step.nr_bytes == 0)
			return;
		if (last && last->kind == SKIP_FIXED &&
		    step.nr_bytes <= SKIP_BYTES_MAX - last->nr_bytes) {
			last->nr_bytes = (last->nr_bytes + step.nr_bytes) & SKIP_BYTES_MAX;
			return;
		}
	}
	ARRAY_GROW(table->steps, table->nr_steps, table->cap_steps);
	table->steps[table->nr_steps++] = step;
	row->nr_steps++;
}

/* Do all attributes so far have a fixed size? */
static bool is_fixed(const struct abbrev_table *table, const struct abbrev *row, uint32_t *nr_bytes)
{
	const struct skip_step *first = row->nr_steps ? &table->steps[row->first_step] : NULL;

	*nr_bytes = first ? first->nr_bytes : 0;
	return row->nr_steps == 0 || (row->nr_steps == 1 && first->kind == SKIP_FIXED);
}

/* Note an attribute, given those before it. */
static void note_attribute(const struct abbrev_table *table, struct abbrev *row, uint16_t name,
			   uint16_t form)
{
	switch (name) {
	case DW_AT_low_pc:
	case DW_AT_ranges:
		row->has_pcs = true;
		break;
	case DW_AT_declaration:
		row->is_declaration = form == DW_FORM_flag_present;
		break;
	case DW_AT_sibling:
		row->has_sibling = true;
		if (row->has_children && form == DW_FORM_ref4 &&
		    is_fixed(table, row, &row->hop_bytes))
			row->hop = HOP_SIBLING;
		break;
	}
}

/* Member by member: what was just written in parts is slow to read as a whole. */
static void add_attribute(struct abbrev_table *table, struct abbrev *row, uint16_t name,
			  uint16_t form, int64_t implicit_const, struct skip_step step)
{
	struct abbrev_attribute *attribute;

	ARRAY_GROW(table->attributes, table->nr_attributes, table->cap_attributes);
	attribute = &table->attributes[table->nr_attributes++];
	attribute->name = name;
	attribute->form = form;
	attribute->step = step;
	attribute->implicit_const = implicit_const;
	row->nr_attributes++;
	note_attribute(table, row, name, form);
	add_step(table, row, step);
}

/* A name or form too large for its field becomes an unknown one. */
static uint16_t narrow(uint64_t value)
{
	return value > UINT16_MAX ? UINT16_MAX : (uint16_t)value;
}

static bool read_row(struct abbrev_table *table, struct cursor *cursor,
		     struct dwarf_encoding encoding)
{
	struct abbrev row = {.code = cursor_padded_uleb(cursor)};

	if (cursor->failed || row.code == 0 || table->nr_attributes > INT32_MAX)
		return false;
	row.tag = narrow(cursor_padded_uleb(cursor));
	row.has_children = cursor_byte(cursor) == DW_CHILDREN_yes;
	row.first_attribute = (uint32_t)table->nr_attributes;
	row.first_step = (uint32_t)table->nr_steps;
	for (;;) {
		uint16_t name = narrow(cursor_padded_uleb(cursor));
		uint16_t form = narrow(cursor_padded_uleb(cursor));
		int64_t implicit_const =
			form == DW_FORM_implicit_const ? cursor_padded_sleb(cursor) : 0;

		if (cursor->failed)
			return false;
		if (name == 0 && form == 0)
			break;
		add_attribute(table, &row, name, form, implicit_const,
			      abbrev_skip_step(form, encoding));
	}
	if (!row.has_children && is_fixed(table, &row, &row.hop_bytes))
		row.hop = HOP_FIXED;
	ARRAY_GROW(table->rows, table->nr_rows, table->cap_rows);
	table->rows[table->nr_rows++] = row;
	return true;
}

static int compare_codes(const void *a, const void *b)
{
	const struct abbrev *left = a, *right = b;

	return (left->code > right->code) - (left->code < right->code);
}

/* Tables stay for as long as their file, and grew by doubling. */
static void fit(struct abbrev_table *table)
{
	table->rows = xrealloc_array(table->rows, table->nr_rows + 1, sizeof(*table->rows));
	table->attributes = xrealloc_array(table->attributes, table->nr_attributes + 1,
					   sizeof(*table->attributes));
	table->steps = xrealloc_array(table->steps, table->nr_steps + 1, sizeof(*table->steps));
	table->cap_rows = table->nr_rows + 1;
	table->cap_attributes = table->nr_attributes + 1;
	table->cap_steps = table->nr_steps + 1;
}

struct abbrev_table *abbrev_table_new_until(struct dwarf_bytes section, uint64_t offset,
					    struct dwarf_encoding encoding, uint64_t code)
{
	struct abbrev_table *table = xcalloc(1, sizeof(*table));
	struct cursor cursor = dwarf_cursor_at(section, offset);

	/* Never NULL, as the address is taken even if there are none. */
	ARRAY_GROW(table->attributes, table->nr_attributes, table->cap_attributes);
	ARRAY_GROW(table->steps, table->nr_steps, table->cap_steps);
	while (read_row(table, &cursor, encoding) && table->rows[table->nr_rows - 1].code != code)
		;
	fit(table);
	table->is_dense = true;
	for (size_t i = 0; i < table->nr_rows && table->is_dense; i++)
		table->is_dense = table->rows[i].code == i + 1;
	if (!table->is_dense)
		qsort(table->rows, table->nr_rows, sizeof(*table->rows), compare_codes);
	return table;
}

struct abbrev_table *abbrev_table_new(struct dwarf_bytes section, uint64_t offset,
				      struct dwarf_encoding encoding)
{
	return abbrev_table_new_until(section, offset, encoding, 0); /* which ends the table */
}

void abbrev_table_free(struct abbrev_table *table)
{
	if (!table)
		return;
	free(table->rows);
	free(table->attributes);
	free(table->steps);
	free(table);
}

const struct abbrev *abbrev_table_search(const struct abbrev_table *table, uint64_t code)
{
	struct abbrev key = {.code = code};

	if (!table->nr_rows)
		return NULL;
	return bsearch(&key, table->rows, table->nr_rows, sizeof(key), compare_codes);
}

void abbrev_skip_value(struct skip_step step, struct dwarf_encoding encoding, struct cursor *cursor)
{
	switch (step.kind) {
	case SKIP_FIXED:
		cursor_skip(cursor, step.nr_bytes);
		break;
	case SKIP_LEB:
		cursor_skip_leb(cursor);
		break;
	case SKIP_TEXT:
		cursor_text(cursor);
		break;
	case SKIP_BLOCK1:
		cursor_skip(cursor, cursor_byte(cursor));
		break;
	case SKIP_BLOCK2:
		cursor_skip(cursor, cursor_u16(cursor));
		break;
	case SKIP_BLOCK4:
		cursor_skip(cursor, cursor_u32(cursor));
		break;
	case SKIP_BLOCK_LEB:
		cursor_skip(cursor, cursor_padded_uleb(cursor));
		break;
	case SKIP_INDIRECT:
		step = abbrev_skip_step(cursor_padded_uleb(cursor), encoding);
		/*
		 * An indirect form that refers to itself would never end (section 7.5.3 forbids
		 * it).
		 */
		if (step.kind == SKIP_INDIRECT)
			cursor_fail(cursor);
		else
			abbrev_skip_value(step, encoding, cursor);
		break;
	case SKIP_UNKNOWN:
		cursor_fail(cursor);
		break;
	}
}
