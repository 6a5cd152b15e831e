/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the blob follows the frames of an interpreter: shared by the files that do. */
#ifndef PROFC_HEAP_HEAP_FOLLOW_BLOB_H
#define PROFC_HEAP_HEAP_FOLLOW_BLOB_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/heap_script_blob.h"

#pragma GCC visibility push(hidden)

/* Pieces of the data stack that are used; each has room for some hundred frames, as a rule. */
#define STACK_PIECES 4

struct heap_follow {
	const struct frame_links *links;
	uint64_t sp, stack_end; /* the native stack can be read between */
	uint64_t state;
	uint64_t gone; /* the block that realloc() has just replaced; 0: none */
	uint64_t nr_used;
	struct heap_stack used[STACK_PIECES]; /* the used parts of the data stack */
	struct heap_stack writable;	      /* the range that was found last */
	struct heap_pieces *pieces;	      /* NULL: the frames are signed */
	uint64_t nr_frames, signature;
	bool is_certain;
};

static inline uint64_t word_at(uint64_t address)
{
	return relaxed_load((const uint64_t *)address);
}

/* heap_pieces_blob.c. Without room, or if the frames are signed, nothing is added. */
void heap_add_piece(struct heap_follow *walk, uint64_t start, uint64_t nr_bytes);
bool heap_has_piece(const struct heap_pieces *pieces, uint64_t start);
/* Has profc seen memory there? Addresses that are not aligned are none. */
bool heap_can_read(struct heap_follow *walk, uint64_t start, uint64_t nr_bytes);

/* heap_contexts_blob.c: follow the stacks of contexts; is_certain is cleared where one ends early.
 */
void heap_follow_contexts(struct heap_follow *walk);

#pragma GCC visibility pop

#endif
