/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DWARF_DWARF_INVENTORY_H
#define PROFC_DWARF_DWARF_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"
#include "dwarf/dwarf_file.h"

/*
 * All code that debug information describes: one walk over the entries of all units. Code that
 * the linker dropped is not in it, nor are the inlined copies there.
 */

/* A function as it was written: the entry that its code and its inlined copies refer to. */
struct dwarf_origin {
	struct dwarf_file *file;
	uint64_t offset;
	uint32_t nr_inlined; /* copies of it that refer to this very entry */
	bool has_code;	     /* a copy of its own, which can be called */
};

/* A piece of code of a function. */
struct dwarf_definition {
	uint64_t start, end;
	uint32_t origin;  /* index of it */
	bool is_entry;	  /* the function begins here; else another part of it */
	uint32_t ordinal; /* rises in the order of the file; the last of one place is shown */
};

struct dwarf_inventory {
	struct dwarf_definition *definitions; /* by start, then by ordinal */
	size_t nr_definitions, cap_definitions;
	struct dwarf_origin *origins;
	size_t nr_origins, cap_origins;
	struct index_set origin_index;
};

/* The unit with the functions of `unit`, which may be in another file; NULL: it is not there. */
typedef struct dwarf_unit *dwarf_code_unit(void *context, struct dwarf_unit *unit);

/* Fill an empty inventory. The files of all units must outlive it. */
void dwarf_inventory_read(struct dwarf_inventory *inventory, struct dwarf_file *file,
			  dwarf_code_unit *code_of, void *context);
void dwarf_inventory_release(struct dwarf_inventory *inventory);

/* The definition to show of those that begin at an address, or NULL. */
const struct dwarf_definition *dwarf_inventory_at(const struct dwarf_inventory *inventory,
						  uint64_t address);

#endif
