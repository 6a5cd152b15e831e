/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_DWARF_WALK_H
#define PROFC_SYMBOL_DWARF_WALK_H

#include "symbol/dwarf_file.h"

/* Going over the entries of a unit one by one. */
struct dwarf_walk {
	struct dwarf_unit *unit;
	const struct abbrev_table *abbrevs;
	struct dwarf_cursor cursor; /* behind the code of the entry at hand, or at the next */
};

/* At the entry that begins at an offset of .debug_info. */
struct dwarf_walk dwarf_walk_at(struct dwarf_unit *unit, uint64_t offset);

/*
 * Read the code of the entry at the cursor. NULL at the end of a list of
 * siblings, which is passed, and when something is damaged, which is marked.
 */
const struct abbrev *dwarf_walk_next(struct dwarf_walk *walk);

/* From behind the entry's code to behind its attributes, where its children begin. */
void dwarf_walk_skip_attributes(struct dwarf_walk *walk, const struct abbrev *abbrev);

/*
 * From behind the entry's code to behind all that is below it: by its
 * DW_AT_sibling where it has one, else (clang and rustc write none) by reading on.
 */
void dwarf_walk_skip_entry(struct dwarf_walk *walk, const struct abbrev *abbrev);

#endif
