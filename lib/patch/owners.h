/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies, of counters or the like, that belong to one thread each: it changes its own one without a
 * lock. A table of owners, which a forked child finds cleared, has a word for each hash of the
 * address of a thread's data (the word at fs:0): the number of the thread's copy, counted from the
 * end of all of them and so negative, less that address. So one load tells which copy it is, and
 * that it is this thread's: added to the address of another thread's data, which is at least
 * PATCH_OWN_COPIES_MAX bytes away, the word gives no number of a copy; nor does a zero.
 */
#ifndef PROFC_PATCH_OWNERS_H
#define PROFC_PATCH_OWNERS_H

#include <stdint.h>

#define PATCH_OWNERS_BYTES   32768
#define PATCH_OWN_COPIES_MAX 512
/* All bits of an address's lower half affect the upper ones of its product with this. */
#define PATCH_OWNERS_FACTOR UINT32_C(0x9e3779b1)
#define PATCH_OWNERS_SHIFT  17

/* The index in the table of the word for a thread, by the address of its data. */
static inline uint32_t patch_owner_index(uint64_t data)
{
	uint32_t offset = (uint32_t)data * PATCH_OWNERS_FACTOR >> PATCH_OWNERS_SHIFT;

	return offset / sizeof(uint64_t);
}

#endif
