/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_BLOCK_SEARCH_H
#define PROFC_PROFILE_BLOCK_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct profile_search;

/* What a search of a process' memory for pointers to its blocks has shown of one. */
struct block_verdict {
	uint64_t address;
	bool is_lost; /* nothing points to it */
};

struct block_search {
	struct block_verdict *verdicts; /* owned; blocks that are not in it were not searched for */
	size_t nr;
	uint64_t at_ns;		    /* CLOCK_MONOTONIC: while it stood; 0: it did not */
	uint64_t stop_ns, nr_bytes; /* how long the process stood, how much was read */
	char *why_not;		    /* owned: nothing was found, for a user to read; or NULL */
};

void block_search_release(struct block_search *search);

/* Which rows of the profile blocks have that are alive; false: it is none of them. */
struct block_finder {
	bool (*find)(const void *owner, uint32_t process, uint64_t address, uint32_t *row);
	const void *owner;
};

/* Of which process, a row of the profile, it was, when, and at which mark; NULL: in the end. */
struct block_search_place {
	uint32_t process;
	uint64_t time_ns;
	const char *mark;
};

/* As rows of the profile, which has those of the blocks. */
void block_search_add(const struct block_search *search, struct profile *profile,
		      const struct block_finder *blocks, const struct block_search_place *place);

/* Is a row one of a mark at this moment; or where that is HEAP_AT_END (heap_estimate.h) of the end?
 */
bool block_search_is_of(const struct profile_search *row, uint64_t at_ns);

#endif
