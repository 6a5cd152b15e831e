/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HEAP_REACH_H
#define PROFC_HEAP_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/block_search.h"

/*
 * Which live recorded blocks have no pointer to them? Keeps a list of the blocks, and the result of
 * searching the memory of a process. Its last search is at its end, or at that of the recording.
 * For one thread at a time.
 */
struct pointer_search;
struct reach;

struct reach *reach_new(void);
void reach_free(struct reach *reach); /* may be NULL */

/* Processes go by serial, which is never used again. */
void reach_add(struct reach *reach, uint32_t process, uint64_t address, uint64_t size);
void reach_remove(struct reach *reach, uint32_t process, uint64_t address);

/* Does the process have live blocks, and is its last search still to come? */
bool reach_is_due(const struct reach *reach, uint32_t process);
/* The search of one process, from reach_begin() to reach_take(). The searcher fills it in. */
struct reach_search {
	struct pointer_search *pointers;   /* to be given all memory of the process; borrowed */
	uint64_t at_ns, stop_ns, nr_bytes; /* as in struct block_search */
	char *why_not;			   /* owned; NULL: it was searched */
};

/*
 * Begin to search a process that is due; `is_last`: for the last time. reach_search() of the room
 * `probe` does it. Until reach_take(), frees that happened before the search may still come in by
 * reach_remove(): blocks that are gone by then are left out.
 */
struct reach_search *reach_begin(struct reach *reach, uint32_t process, bool is_last);
/* Instead of a last search: the process cannot be searched, for this reason. */
void reach_give_up(struct reach *reach, uint32_t process, const char *why_not);
/* Move the result of reach_begin() or reach_give_up() to the caller, once. */
void reach_take(struct reach *reach, struct block_search *out);

#endif
