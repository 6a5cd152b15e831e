/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_BLOCK_SEARCH_H
#define PROFC_PROFILE_BLOCK_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* What a search of a process' memory for pointers to its blocks has shown of one. */
struct block_verdict {
	uint64_t address;
	bool is_lost; /* nothing points to it */
};

struct block_search {
	struct block_verdict *verdicts; /* owned; blocks that are not in it were not searched for */
	size_t nr;
	uint64_t stop_ns, nr_bytes; /* how long the process stood, how much was read */
	char *why_not;		    /* owned: nothing was found, for a user to read; or NULL */
};

void block_search_release(struct block_search *search);

/* Which rows of the profile blocks have that are alive; false: it is none of them. */
struct block_finder {
	bool (*find)(const void *owner, uint32_t process, uint64_t address, uint32_t *row);
	const void *owner;
};

/* As rows of the profile, which has those of the blocks. `process` is its row there. */
void block_search_add(const struct block_search *search, struct profile *profile,
		      const struct block_finder *blocks, uint32_t process, uint64_t time_ns);

#endif
