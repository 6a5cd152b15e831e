/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames of an interpreter that the thread is in: see snapshot/frame_links.h. */
#ifndef PROFC_HEAP_HEAP_SCRIPT_BLOB_H
#define PROFC_HEAP_HEAP_SCRIPT_BLOB_H

#include <stdint.h>

#include "heap/heap_walk_blob.h"

/* The state, the data stack, frames in objects of their own, and functions from the leaf on, each
 * with its texts. */
#define HEAP_PIECES 96

struct heap_pieces {
	uint64_t nr;
	uint64_t nr_bytes; /* as in struct heap_caller */
	struct heap_piece at[HEAP_PIECES];
};

/*
 * Find the memory that a walk of the interpreter's frames needs; none, if the thread is not the one
 * that runs in it. It can be read until the thread goes on. `gone` is a block that realloc() has
 * replaced just now, and that the interpreter may still point to; 0: there is none.
 */
void heap_find_pieces(struct heap_pieces *pieces, const struct heap_frame *frame, uint64_t gone)
	__attribute__((visibility("hidden")));
/* A word for each piece, then its bytes. */
void heap_write_pieces(const struct heap_pieces *pieces, uint64_t *to)
	__attribute__((visibility("hidden")));
/*
 * The signature of a stack with the interpreter's frames, their functions and places; 0: it is not
 * certain which functions they are.
 */
uint64_t heap_sign_frames(const struct heap_frame *frame, uint64_t signature, uint64_t gone)
	__attribute__((visibility("hidden")));

/* The same; without an interpreter, as in most programs, it is `signature` itself. */
static inline uint64_t heap_sign_script(const struct heap_frame *frame, uint64_t signature,
					uint64_t gone)
{
	if (!relaxed_load(&heap_known()->links.root))
		return signature;
	return heap_sign_frames(frame, signature, gone);
}

#endif
