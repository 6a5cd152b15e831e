/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DWARF_DWARF_SCOPE_H
#define PROFC_DWARF_DWARF_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/dwarf_range.h"

/*
 * Which functions an address stands in: one walk over the entries of a unit,
 * with the wanted addresses at hand, instead of a search per address.
 */
#define SCOPE_NONE UINT32_MAX

/* A subprogram, or an instance of an inlined one, that holds a wanted address. */
struct scope {
	uint32_t parent; /* what it is inlined into; SCOPE_NONE for a subprogram */
	uint32_t root;	 /* the subprogram at the end of the parents */
	/* The entry that has (or leads to) the name; an inlined one's abstract origin. */
	struct dwarf_file *function_file;
	uint64_t function_offset;
	uint64_t call_file;
	uint32_t call_line, call_column;
	uint32_t first_range, nr_ranges;
};

struct scope_table {
	struct scope *rows; /* parents before children */
	size_t nr, cap;
	struct range_list ranges;
	uint32_t *of_address; /* the innermost scope of each address, or SCOPE_NONE */
};

void scope_table_release(struct scope_table *table);

/*
 * Fill an empty table for addresses[0 … nr - 1], ascending. What is damaged is
 * left out and marked on the file.
 */
void dwarf_match_scopes(struct dwarf_unit *unit, const uint64_t *addresses, size_t nr,
			struct scope_table *table);

bool scope_contains(const struct scope_table *table, uint32_t scope, uint64_t address);

#endif
