/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_RENUMBER_H
#define PROFC_PROFILE_RENUMBER_H

#include <stdint.h>

#include "profile/schema.h"

/* The rows and times of one profile in another. */
struct renumbering {
	/* For each table, by row: its row there. NULL: rows keep their numbers. Owned. */
	uint32_t *rows[RECORD_TYPE_COUNT];
	uint64_t offset_ns; /* from the start of that profile to the start of this one */
};

/* Room for the new row of each row that a table of the profile has. Rows are 0 at first. */
uint32_t *renumbering_begin(struct renumbering *map, const struct profile *profile,
			    enum record_type type);
void renumbering_release(struct renumbering *map);

/* Renumber the rows and shift the times that are members of a row. */
void renumber(const struct renumbering *map, enum record_type type, void *row);
/* Only the texts of a row of `from`: make them those of `into`. */
void renumber_texts(struct profile *into, const struct profile *from, enum record_type type,
		    void *row);

#endif
