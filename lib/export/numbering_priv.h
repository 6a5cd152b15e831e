/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_NUMBERING_PRIV_H
#define PROFC_EXPORT_NUMBERING_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * New numbers for the ids of a table, 0, 1, 2, … in the order of first use, since a file contains
 * only the rows that its samples need.
 */
struct numbering {
	uint32_t *numbers; /* private: by id, number + 1; 0: none yet */
	uint32_t *ids;	   /* by number */
	uint32_t nr;
};

/* Ids are below nr_ids. */
void numbering_init(struct numbering *numbering, size_t nr_ids);
void numbering_release(struct numbering *numbering);
/* The number of an id, the next one if it has none yet. */
uint32_t numbering_of(struct numbering *numbering, uint32_t id);
bool numbering_has(const struct numbering *numbering, uint32_t id);

#endif
