/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often each function of a file was inlined, over all of its units. */
#ifndef PROFC_SYMBOL_INLINED_COPIES_H
#define PROFC_SYMBOL_INLINED_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"
#include "dwarf/dwarf_inventory.h"

/*
 * Each unit that inlines a function of a header describes it anew: by its name these are one, if
 * it is visible outside of its unit. Static functions of one name are not.
 */
struct inlined_function {
	const char *name; /* for the linker, else plain; borrowed; NULL when there is none */
	uint32_t nr;	  /* copies */
	bool has_code;	  /* anywhere in the file */
};

struct inlined_copies {
	struct inlined_function *functions;
	size_t nr, cap;
	uint32_t *of_origin; /* index of the function, by the index of an origin */
	struct index_set index;
};

/* Count them, once, from a complete inventory, which must not change afterwards. */
void inlined_copies_count(struct inlined_copies *copies, const struct dwarf_inventory *inventory);
/* The copies of the function that an origin is one description of. Counts if need be. */
uint32_t inlined_copies_of(struct inlined_copies *copies, const struct dwarf_inventory *inventory,
			   uint32_t origin);
void inlined_copies_release(struct inlined_copies *copies);

#endif
