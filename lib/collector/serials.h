/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_SERIALS_H
#define PROFC_COLLECTOR_SERIALS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Objects by serial numbers, which are given in order and never again. What is removed leaves
 * 8 bytes behind for each chunk of it that is all removed, so a table of those that there are
 * stays small, and an access as quick, however many there were. Zero-initialised is empty.
 */
#define SERIALS_PER_CHUNK 256

struct serials {
	struct serials_chunk **chunks; /* owned; NULL: all of it was removed */
	size_t nr_chunks, cap_chunks;
	uint32_t nr_given;
};

/* The table does not own the objects. */
void serials_release(struct serials *serials);
/* The next number is this object's; which must not be NULL. */
uint32_t serials_add(struct serials *serials, void *object);
/* NULL if it was removed, or not given yet. */
void *serials_get(const struct serials *serials, uint32_t serial);
/* What is there under that number. */
void serials_remove(struct serials *serials, uint32_t serial);

#endif
