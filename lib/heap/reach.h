/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HEAP_REACH_H
#define PROFC_HEAP_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/block_search.h"

/*
 * To which of the recorded blocks that are alive does anything point? Knows them as they are told
 * of, and searches the memory of each process, the last time in its end or that of the recording.
 * For one thread at a time.
 */
struct pointer_search;
struct reach;

struct reach *reach_new(void);
void reach_free(struct reach *reach); /* may be NULL */

/* By serials of processes, which are never used again. */
void reach_add(struct reach *reach, uint32_t process, uint64_t address, uint64_t size);
void reach_remove(struct reach *reach, uint32_t process, uint64_t address);

/* Has it blocks that are alive, and was not searched for the last time? */
bool reach_is_due(const struct reach *reach, uint32_t process);
/* The search of one process, from reach_begin() to reach_take(): the searcher's to fill in. */
struct reach_search {
	struct pointer_search *pointers;   /* given all of its memory; borrowed */
	uint64_t at_ns, stop_ns, nr_bytes; /* as of struct block_search */
	char *why_not;			   /* owned by this; NULL: it was searched */
};

/*
 * Begin to search one that is due, for the last time or not: reach_search() of the prober's room
 * does it. What reach_add() and reach_remove() tell up to reach_take() may have happened before:
 * blocks that are gone then are left out.
 */
struct reach_search *reach_begin(struct reach *reach, uint32_t process, bool is_last);
/* Instead, for the last time: it cannot be searched any more, for this reason. */
void reach_give_up(struct reach *reach, uint32_t process, const char *why_not);
/* What the last of these two has brought, once: it is the caller's. */
void reach_take(struct reach *reach, struct block_search *out);

#endif
