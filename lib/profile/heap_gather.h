/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_HEAP_GATHER_H
#define PROFC_PROFILE_HEAP_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/heap.h"
#include "stack/stack_end.h"

struct profile;

/*
 * Makes the rows of blocks that are allocated and freed, possibly millions a second. Which blocks
 * share a row is a policy. Where they do:
 *
 * Blocks that are alive when rows are made, about once a second, share a row if the same thread
 * allocated them with the same stack; when some of them are freed, those become a row of their own.
 * Blocks freed before they had a row share one if, besides, the same thread freed them, and their
 * lives are of the same decade, up to 10^8 ns. Blocks and bytes are exact in any sum. So is the
 * moment between rows at which most bytes were alive: blocks alive then have rows apart from the
 * others, so that rows add up to the same. At other moments rows have no more blocks alive than
 * there were: those of a row are there from the last birth to the first end of them.
 */
struct heap_gather;

enum heap_rows {
	HEAP_ROWS_EACH,	 /* each block has its own, at once */
	HEAP_ROWS_ALIKE, /* blocks that are alike share one */
	/* Blocks alive when rows are made have a row each, which takes more than 200 bytes. */
	HEAP_ROWS_ALIVE_EACH,
};

struct heap_block {
	uint64_t address, size_bytes, time_ns; /* since the recording began */
	uint64_t mean_bytes;		       /* as in its row; 0 but with HEAP_ROWS_EACH */
	bool replaces;			       /* realloc() made it of another block, which was */
	uint64_t old_address;		       /* at this address; 0: not known */
	uint32_t process;
	struct thread_id thread;
	struct stack_id stack;
	uint8_t kind, end; /* as in struct profile_allocation */
};

/* `profile` is borrowed; only this gatherer adds allocations to it. */
struct heap_gather *heap_gather_new(struct profile *profile, enum heap_rows policy);
void heap_gather_release(struct heap_gather *gather); /* NULL is nothing */

/*
 * A block already at that address must have been freed unseen, and is freed now; with
 * HEAP_ROWS_EACH its row stays as it is.
 */
void heap_gather_add(struct heap_gather *gather, const struct heap_block *added);

/*
 * The facts that many blocks share, which replace no others and have no mean. The rest belongs to
 * the gatherer, and is zero at first: where it found their likes last.
 */
struct heap_origin {
	uint32_t process;
	struct thread_id thread;
	struct stack_id stack;
	uint8_t kind, end;
	uint32_t cohort;
	uint64_t epoch;
};

/* As heap_gather_add(), and shorter for an origin that was used before. */
void heap_gather_add_of(struct heap_gather *gather, struct heap_origin *origin, uint64_t address,
			uint64_t size_bytes, uint64_t time_ns);

/*
 * Announce that a block will be added or freed soon: its place, somewhere in many megabytes, is
 * prefetched into the processor's cache.
 */
void heap_gather_expect(const struct heap_gather *gather, uint32_t process, uint64_t address);

/*
 * Blocks allocated, or freed if they have rows, from then on do not share rows with earlier ones.
 * Marks are in the order of time.
 */
void heap_gather_mark(struct heap_gather *gather, uint64_t time_ns);

/* A freed block. Unknown blocks are ignored. */
struct heap_freed {
	uint32_t process;
	uint64_t address, time_ns;
	struct thread_id thread;
	/* With HEAP_ROWS_EACH: record the freeing stack, which is this. */
	bool wants_stack;
	struct stack_id stack;
	enum stack_end end;
};

void heap_gather_free(struct heap_gather *gather, const struct heap_freed *freed);
/*
 * Freed by realloc(), which makes another block of it; if that fails, heap_gather_keep() keeps it.
 */
void heap_gather_free_to_move(struct heap_gather *gather, const struct heap_freed *freed);
void heap_gather_keep(struct heap_gather *gather, uint32_t process, uint64_t address);

/*
 * A mapping, which gets a row of its own, even if it is unmapped soon: a copy of `row`. Its
 * `former` is 0 or a number that this function has returned, from 1 on. It is freed once, when
 * nothing is left of it.
 */
uint32_t heap_gather_add_map(struct heap_gather *gather, const struct profile_allocation *row);
void heap_gather_free_map(struct heap_gather *gather, uint32_t number,
			  const struct heap_freed *freed, bool is_moved);

/*
 * Make the rows of all blocks added and freed so far. One that realloc() has freed is alive, until
 * it is known what became of it.
 */
void heap_gather_make_rows(struct heap_gather *gather);
/* The last time: realloc() has freed those. */
void heap_gather_flush(struct heap_gather *gather);
/* Find the row that has a live block; false: the block is unknown, or has no row yet. */
bool heap_gather_find(const struct heap_gather *gather, uint32_t process, uint64_t address,
		      uint32_t *row);
/* The row of a mapping; only after rows were made. */
uint32_t heap_gather_map_row(const struct heap_gather *gather, uint32_t number);

#endif
