/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_BLOCK_SEARCH_H
#define PROFC_PROFILE_BLOCK_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct profile_search;

/* The result for one block of a search through its process' memory for pointers. */
struct block_verdict {
	uint64_t address;
	bool is_lost; /* nothing points to it */
};

struct block_search {
	struct block_verdict *verdicts; /* owned; blocks without one were not searched for */
	size_t nr;
	/* CLOCK_MONOTONIC: a moment of the stop; 0: it was not stopped */
	uint64_t at_ns;
	uint64_t stop_ns, nr_bytes; /* the stop's length; the bytes read */
	char *why_not;		    /* owned: the reason of a failed search, for users; or NULL */
};

void block_search_release(struct block_search *search);

/* Finds the profile's rows of live blocks; false: the block has none. */
struct block_finder {
	bool (*find)(const void *owner, uint32_t process, uint64_t address, uint32_t *row);
	const void *owner;
};

/* The process (a row of the profile), the time and the mark of a search; NULL: at the end. */
struct block_search_place {
	uint32_t process;
	uint64_t time_ns;
	const char *mark;
};

/* Add the search and its verdicts to the profile, which has the rows of the blocks. */
void block_search_add(const struct block_search *search, struct profile *profile,
		      const struct block_finder *blocks, const struct block_search_place *place);

/* Is a search one at a mark at this moment, or, at HEAP_AT_END (heap_estimate.h), at the end? */
bool block_search_is_of(const struct profile_search *row, uint64_t at_ns);

#endif
