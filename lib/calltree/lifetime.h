/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_LIFETIME_H
#define PROFC_CALLTREE_LIFETIME_H

#include <stdbool.h>
#include <stdint.h>

struct heap_life;

/*
 * How long blocks of memory live, in decades: less than 1 us, to 10 us, ... to 10 s, and longer.
 * After these come blocks that are not freed, and those with lifetimes that realloc() hides.
 */
#define LIFETIME_DECADES 9

enum lifetime {
	LIFETIME_SHORTEST,
	LIFETIME_LONGEST = LIFETIME_DECADES - 1,
	LIFETIME_ALIVE,
	LIFETIME_UNKNOWN,
	LIFETIME_COUNT,
};

enum lifetime lifetime_of(const struct heap_life *life);
const char *lifetime_name(enum lifetime lifetime);
/* The inclusive lower and exclusive upper bound of a class; false: it has no such bound. */
bool lifetime_from_ns(enum lifetime lifetime, uint64_t *ns);
bool lifetime_to_ns(enum lifetime lifetime, uint64_t *ns);

#endif
