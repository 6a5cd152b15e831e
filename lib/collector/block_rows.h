/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the begins and ends of blocks and mappings into the allocations of a profile. */
#ifndef PROFC_COLLECTOR_BLOCK_ROWS_H
#define PROFC_COLLECTOR_BLOCK_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/heap_forget.h"
#include "profile/heap_gather.h"
#include "profile/ids.h"
#include "stack/stack.h"

struct block_record;
struct block_rows;
struct block_search;
struct block_search_place;
struct live_maps;
struct profile;

/* Borrows the profile. Of HEAP_ROWS_EACH a sample of blocks is recorded, else all are. */
struct block_rows *block_rows_new(struct profile *profile, enum heap_rows policy);
void block_rows_free(struct block_rows *rows); /* may be NULL */

/* The facts that the collector adds to a record. */
struct block_seen {
	uint64_t time_ns; /* of the profile */
	struct thread_id thread;
	struct live_maps *maps; /* of the process */
	struct stack_id stack;	/* empty: `end` says why */
	uint8_t end;		/* enum stack_end */
};

/*
 * Is the block recorded among all blocks? Then later blocks with the same stack come without it.
 * Mappings are recorded one by one in any case.
 */
bool block_rows_is_one_of_all(const struct block_rows *rows, const struct block_record *record);
/* Announce the next records: prefetches the places of some of them. */
void block_rows_expect(const struct block_rows *rows, const struct block_record *records,
		       size_t nr);
/* Add a record: a block or a mapping begins or ends. The end of an unknown one is ignored. */
void block_rows_add(struct block_rows *rows, const struct block_record *record,
		    const struct block_seen *seen);
/* Rows will show which blocks were alive at this time of the profile. */
void block_rows_mark(struct block_rows *rows, uint64_t time_ns);
/* Adds the results of a search of the process' memory, for blocks that are alive. */
void block_rows_search(struct block_rows *rows, const struct block_search *found,
		       const struct live_maps *maps, const struct block_search_place *place);

/* Make rows of all blocks up to now. */
void block_rows_gather(struct block_rows *rows);
/* The last time: what is on the move ends. */
void block_rows_end(struct block_rows *rows);
bool block_rows_is_gathering_due(const struct block_rows *rows);
/* Of a sample: keep no more than that. The rest is forgotten now and then. */
void block_rows_keep(struct block_rows *rows, const struct heap_keep *keep);
/*
 * Forget, if it is time to; now_ns is a time of the profile. NULL: it is not; else the new numbers
 * of mappings, which the caller frees: for live_maps_renumber(), of all processes.
 */
uint32_t *block_rows_forget(struct block_rows *rows, uint64_t now_ns);
/* Sets its counters in the profile. */
void block_rows_count(const struct block_rows *rows);

#endif
