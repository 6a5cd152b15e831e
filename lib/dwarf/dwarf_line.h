/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DWARF_DWARF_LINE_H
#define PROFC_DWARF_DWARF_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/dwarf_file.h"

/*
 * Line tables (DWARF 5 section 6.2), streamed: the line program runs once
 * against the sorted addresses that are wanted, and no row is ever stored.
 */

struct line_header;

/* The line table of a unit, read on first use, owned by the unit; NULL: none, or damaged. */
const struct line_header *dwarf_unit_lines(struct dwarf_unit *unit);

/*
 * The path of a file number as DW_AT_decl_file and the like give it, with its
 * directories put before it. NULL when there is no such file. Caller frees.
 */
char *line_file_path(const struct dwarf_unit *unit, const struct line_header *header,
		     uint64_t file);

/* The row of the line table in force at an address. */
struct line_row {
	uint64_t address; /* where it begins */
	uint32_t file, line, column, discriminator;
};

struct line_match {
	bool found;
	struct line_row row;
	/* When row.line is 0: the last one before it in its sequence that has a line, if any. */
	bool has_previous;
	struct line_row previous;
};

/*
 * Run the unit's line program against addresses[0 … nr - 1], ascending, and
 * fill matches[] of those it covers; the others keep found == false.
 */
void dwarf_match_lines(struct dwarf_unit *unit, const uint64_t *addresses, size_t nr,
		       struct line_match *matches);

#endif
