/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_NAME_INDEX_H
#define PROFC_SYMBOL_NAME_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"

/* Finds elements of an array by their names, of which each may have several. Empty if all 0. */
struct name_index {
	struct index_set set; /* the first row of each name */
	struct name_index_row {
		const char *name; /* borrowed */
		size_t nr_bytes;  /* of the name, which need not end there */
		uint32_t element;
		uint32_t next; /* row of the same name, or INDEX_NONE */
	} * rows;	       /* owned */
	size_t nr, cap;
};

void name_index_release(struct name_index *index);
/* The name is borrowed, and must outlive the index. */
void name_index_add(struct name_index *index, const char *name, size_t nr_bytes, uint32_t element);
/* The first row of a name; its `next` leads to the others. INDEX_NONE: there is none. */
uint32_t name_index_find(const struct name_index *index, const char *name);
/* Is there a row of the name that ends after so many bytes? */
bool name_index_has(const struct name_index *index, const char *name, size_t nr_bytes);

#endif
