/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of inlined copies of each function of a file, over all units. */
#ifndef PROFC_SYMBOL_INLINED_COPIES_H
#define PROFC_SYMBOL_INLINED_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"
#include "dwarf/dwarf_inventory.h"

/*
 * Each unit that inlines a function of a header has its own description of it. Descriptions with
 * one name are one function if it is visible outside its unit; static functions with one name are
 * different functions.
 */
struct inlined_function {
	const char *name; /* linkage name, else plain name; borrowed; NULL if there is neither */
	uint32_t nr;	  /* copies */
	bool has_code;	  /* anywhere in the file */
};

struct inlined_copies {
	struct inlined_function *functions;
	size_t nr, cap;
	uint32_t *of_origin; /* index of the function, by the index of an origin */
	struct index_set index;
};

/* Count the copies, once, from a complete inventory that does not change afterwards. */
void inlined_copies_count(struct inlined_copies *copies, const struct dwarf_inventory *inventory);
/* The number of copies of the function that an origin describes. Counts if need be. */
uint32_t inlined_copies_of(struct inlined_copies *copies, const struct dwarf_inventory *inventory,
			   uint32_t origin);
void inlined_copies_release(struct inlined_copies *copies);

#endif
