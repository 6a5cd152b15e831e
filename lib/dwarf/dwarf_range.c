// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the address ranges of DWARF entries. */
#include "dwarf/dwarf_range.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/alloc.h"

void range_list_release(struct range_list *list)
{
	free(list->rows);
	*list = (struct range_list){.nr = 0};
}

size_t addresses_at_or_above(const uint64_t *addresses, size_t nr, uint64_t wanted)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addresses[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Linkers mark what they dropped by address 0 (bfd, gold) or by -1 and -2
 * (lld); in an object file before linking, 0 is an address like others.
 */
static bool is_dropped(const struct dwarf_unit *unit, uint64_t low)
{
	uint64_t max = unit->encoding.address_bytes == 4 ? UINT32_MAX : UINT64_MAX;

	return (low == 0 && !unit->file->relocatable) || low >= max - 1;
}

static void add_range(const struct dwarf_unit *unit, struct range_list *list, uint64_t low,
		      uint64_t high)
{
	if (low >= high || is_dropped(unit, low))
		return;
	ARRAY_GROW(list->rows, list->nr, list->cap);
	list->rows[list->nr++] = (struct pc_range){.low = low, .high = high};
}

/* .debug_ranges, up to DWARF 4: pairs, or (-1, base); (0, 0) ends (DWARF 4 section 2.17.3). */
static void read_ranges_4(const struct dwarf_unit *unit, struct cursor *cursor,
			  struct range_list *list)
{
	unsigned int nr_bytes = unit->encoding.address_bytes;
	uint64_t max = nr_bytes == 4 ? UINT32_MAX : UINT64_MAX;
	uint64_t base = unit->skeleton ? unit->skeleton->low_pc : unit->low_pc;
	bool dropped = false;

	while (dwarf_file_work(unit->file, 1)) {
		uint64_t low = cursor_fixed(cursor, nr_bytes);
		uint64_t high = cursor_fixed(cursor, nr_bytes);

		if (cursor->failed || (low == 0 && high == 0))
			return;
		if (low == max) {
			base = high;
			dropped = is_dropped(unit, base);
		} else if (!dropped) {
			add_range(unit, list, base + low, base + high);
		}
	}
}

static uint64_t indexed_address(const struct dwarf_unit *unit, struct cursor *cursor)
{
	struct dwarf_value value = {.form = DW_FORM_addrx, .number = cursor_padded_uleb(cursor)};
	uint64_t address;

	return dwarf_value_address(unit, &value, &address) ? address : 0;
}

struct rnglist_state {
	uint64_t base;
	bool dropped; /* the base is that of dropped code */
};

static void set_base(const struct dwarf_unit *unit, struct rnglist_state *state, uint64_t base)
{
	state->base = base;
	state->dropped = is_dropped(unit, base);
}

/* One entry of .debug_rnglists (DWARF 5 section 7.25); false at the end of the list. */
static bool read_rnglist_entry(const struct dwarf_unit *unit, struct cursor *cursor,
			       struct rnglist_state *state, struct range_list *list)
{
	unsigned int nr_bytes = unit->encoding.address_bytes;
	uint8_t kind = cursor_byte(cursor);
	uint64_t low, high;

	if (cursor->failed)
		return false;
	switch (kind) {
	case DW_RLE_base_addressx:
		set_base(unit, state, indexed_address(unit, cursor));
		return true;
	case DW_RLE_base_address:
		set_base(unit, state, cursor_fixed(cursor, nr_bytes));
		return true;
	case DW_RLE_startx_endx:
		low = indexed_address(unit, cursor);
		high = indexed_address(unit, cursor);
		break;
	case DW_RLE_startx_length:
		low = indexed_address(unit, cursor);
		high = low + cursor_padded_uleb(cursor);
		break;
	case DW_RLE_offset_pair:
		low = state->base + cursor_padded_uleb(cursor);
		high = state->base + cursor_padded_uleb(cursor);
		if (state->dropped)
			return true;
		break;
	case DW_RLE_start_end:
		low = cursor_fixed(cursor, nr_bytes);
		high = cursor_fixed(cursor, nr_bytes);
		break;
	case DW_RLE_start_length:
		low = cursor_fixed(cursor, nr_bytes);
		high = low + cursor_padded_uleb(cursor);
		break;
	default: /* DW_RLE_end_of_list, or nothing that could be read on */
		return false;
	}
	if (!cursor->failed)
		add_range(unit, list, low, high);
	return !cursor->failed;
}

static void read_ranges_5(const struct dwarf_unit *unit, struct cursor *cursor,
			  struct range_list *list)
{
	struct rnglist_state state = {
		.base = unit->skeleton ? unit->skeleton->low_pc : unit->low_pc,
	};

	while (dwarf_file_work(unit->file, 1) && read_rnglist_entry(unit, cursor, &state, list))
		;
}

/* Where the list of DW_FORM_rnglistx number `index` begins. */
static bool rnglist_offset(const struct dwarf_unit *unit, uint64_t index, uint64_t *offset)
{
	struct dwarf_bytes section = unit->file->sections[DWARF_RNGLISTS];
	struct cursor cursor = dwarf_cursor_at(section, unit->rnglists_base);

	if (index > section.nr)
		return false;
	cursor_skip(&cursor, index * unit->encoding.offset_bytes);
	*offset = unit->rnglists_base + cursor_fixed(&cursor, unit->encoding.offset_bytes);
	return !cursor.failed;
}

static void read_list(const struct dwarf_unit *unit, const struct dwarf_value *value,
		      struct range_list *list)
{
	const struct dwarf_file *addresses = unit->skeleton ? unit->skeleton->file : unit->file;
	uint64_t offset = value->number;
	struct cursor cursor;

	if (unit->encoding.version < 5) {
		if (unit->skeleton)
			offset += unit->skeleton->ranges_base;
		cursor = dwarf_cursor_at(addresses->sections[DWARF_RANGES], offset);
		read_ranges_4(unit, &cursor, list);
		return;
	}
	if (value->form == DW_FORM_rnglistx && !rnglist_offset(unit, value->number, &offset))
		return;
	cursor = dwarf_cursor_at(unit->file->sections[DWARF_RNGLISTS], offset);
	read_ranges_5(unit, &cursor, list);
}

void dwarf_read_ranges(const struct dwarf_unit *unit, const struct dwarf_pcs *pcs,
		       struct range_list *list)
{
	uint64_t low, high;

	list->nr = 0;
	if (pcs->ranges.form) {
		read_list(unit, &pcs->ranges, list);
		return;
	}
	if (!pcs->high_pc.form || !dwarf_value_address(unit, &pcs->low_pc, &low))
		return;
	/* An address, or since DWARF 4 the length as a constant. */
	if (!dwarf_value_address(unit, &pcs->high_pc, &high))
		high = low + pcs->high_pc.number;
	add_range(unit, list, low, high);
}
