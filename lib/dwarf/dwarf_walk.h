/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DWARF_DWARF_WALK_H
#define PROFC_DWARF_DWARF_WALK_H

#include <dwarf.h>

#include "base/alloc.h"
#include "dwarf/dwarf_file.h"

/* The kind of an entry by its tag, which says what may be below it. */
enum entry_kind {
	ENTRY_OTHER,
	ENTRY_SPACE, /* may hold functions */
	ENTRY_TYPE,  /* may hold functions, but rarely does */
	ENTRY_FUNCTION,
	ENTRY_INLINED,
	ENTRY_BLOCK,
};

static inline enum entry_kind dwarf_entry_kind(uint16_t tag)
{
	/* All other tags are ENTRY_OTHER. */
	static const uint8_t kinds[] = {
		[DW_TAG_compile_unit] = ENTRY_SPACE,
		[DW_TAG_partial_unit] = ENTRY_SPACE,
		[DW_TAG_namespace] = ENTRY_SPACE,
		[DW_TAG_module] = ENTRY_SPACE,
		[DW_TAG_class_type] = ENTRY_TYPE,
		[DW_TAG_structure_type] = ENTRY_TYPE,
		[DW_TAG_union_type] = ENTRY_TYPE,
		[DW_TAG_interface_type] = ENTRY_TYPE,
		[DW_TAG_enumeration_type] = ENTRY_TYPE,
		[DW_TAG_subprogram] = ENTRY_FUNCTION,
		[DW_TAG_inlined_subroutine] = ENTRY_INLINED,
		[DW_TAG_lexical_block] = ENTRY_BLOCK,
		[DW_TAG_try_block] = ENTRY_BLOCK,
		[DW_TAG_catch_block] = ENTRY_BLOCK,
		[DW_TAG_with_stmt] = ENTRY_BLOCK,
	};

	return tag < ARRAY_SIZE(kinds) ? (enum entry_kind)kinds[tag] : ENTRY_OTHER;
}

/* Going over the entries of a unit one by one. */
struct dwarf_walk {
	struct dwarf_unit *unit;
	const struct abbrev_table *abbrevs;
	struct cursor cursor;	   /* behind the code of the entry at hand, or at the next */
	const uint8_t *unit_start; /* what references within the unit count from */
};

/* At the entry that begins at an offset of .debug_info. */
struct dwarf_walk dwarf_walk_at(struct dwarf_unit *unit, uint64_t offset);

/* Nothing behind this point can be made sense of. */
void dwarf_walk_give_up(struct dwarf_walk *walk);

/*
 * Read the code of the entry at the cursor. NULL at the end of a list of
 * siblings, which is passed, and when something is damaged, which is marked.
 */
static inline const struct abbrev *dwarf_walk_next(struct dwarf_walk *walk)
{
	uint64_t code = cursor_padded_uleb(&walk->cursor);
	const struct abbrev *abbrev;

	if (code == 0)
		return NULL;
	abbrev = abbrev_table_find(walk->abbrevs, code);
	if (!abbrev || !dwarf_file_work(walk->unit->file, 1)) {
		dwarf_walk_give_up(walk);
		return NULL;
	}
	return abbrev;
}

/* From behind the entry's code to behind its attributes, where its children begin. */
static inline void dwarf_walk_skip_attributes(struct dwarf_walk *walk, const struct abbrev *abbrev)
{
	abbrev_skip(walk->abbrevs, abbrev, walk->unit->encoding, &walk->cursor);
}

/* The code of a function, or of a copy that was inlined, as its entry has it. */
struct dwarf_entry {
	struct dwarf_pcs pcs;
	struct dwarf_value origin;
};

/* Where a copy was inlined. */
struct dwarf_call {
	struct dwarf_value file, line, column;
};

/* Where the value of an attribute goes; NULL when it is not wanted. */
static inline struct dwarf_value *dwarf_value_of(struct dwarf_entry *entry, struct dwarf_call *call,
						 uint16_t attribute)
{
	switch (attribute) {
	case DW_AT_low_pc:
		return &entry->pcs.low_pc;
	case DW_AT_high_pc:
		return &entry->pcs.high_pc;
	case DW_AT_ranges:
		return &entry->pcs.ranges;
	case DW_AT_abstract_origin:
		return &entry->origin;
	case DW_AT_call_file:
		return call ? &call->file : NULL;
	case DW_AT_call_line:
		return call ? &call->line : NULL;
	case DW_AT_call_column:
		return call ? &call->column : NULL;
	}
	return NULL;
}

/* From behind the entry's code to behind its attributes. `call` may be NULL: it is not wanted. */
static inline void dwarf_walk_read_entry(struct dwarf_walk *walk, const struct abbrev *abbrev,
					 struct dwarf_entry *entry, struct dwarf_call *call)
{
	const struct abbrev_attribute *attribute =
		walk->abbrevs->attributes + abbrev->first_attribute;

	*entry = (struct dwarf_entry){.origin.form = 0};
	if (call)
		*call = (struct dwarf_call){.file.form = 0};
	for (uint32_t i = 0; i < abbrev->nr_attributes; i++, attribute++) {
		struct dwarf_value *wanted = dwarf_value_of(entry, call, attribute->name);

		if (wanted)
			dwarf_read_value(walk->unit, &walk->cursor, attribute, wanted);
		else
			abbrev_skip_inline(attribute->step, walk->unit->encoding, &walk->cursor);
	}
}

/* To the sibling of an entry of HOP_SIBLING; false when what it says cannot be. */
static inline bool dwarf_walk_hop(struct dwarf_walk *walk, const struct abbrev *abbrev)
{
	struct cursor cursor = walk->cursor;
	uint64_t offset;

	cursor_skip(&cursor, abbrev->hop_bytes);
	offset = cursor_u32(&cursor);
	/* Only forwards, or the walk might never end. */
	if (cursor.failed || offset > (uint64_t)(cursor.end - walk->unit_start) ||
	    walk->unit_start + offset < cursor.at)
		return false;
	walk->cursor.at = walk->unit_start + offset;
	return true;
}

void dwarf_walk_skip_slowly(struct dwarf_walk *walk, const struct abbrev *abbrev);

/*
 * From behind the entry's code to behind all that is below it: by its
 * DW_AT_sibling where it has one, else (clang and rustc write none) by reading on.
 */
static inline void dwarf_walk_skip_entry(struct dwarf_walk *walk, const struct abbrev *abbrev)
{
	if (abbrev->hop == HOP_FIXED)
		cursor_skip(&walk->cursor, abbrev->hop_bytes);
	else if (abbrev->hop != HOP_SIBLING || !dwarf_walk_hop(walk, abbrev))
		dwarf_walk_skip_slowly(walk, abbrev);
}

#endif
