// SPDX-License-Identifier: GPL-2.0-or-later
/* The blob takes pieces of an interpreter's memory. */
#include "heap/heap_blob_priv.h"
#include "heap/heap_follow_blob.h"

void heap_add_piece(struct heap_follow *walk, uint64_t start, uint64_t nr_bytes)
{
	struct heap_pieces *pieces = walk->pieces;

	if (!pieces || pieces->nr == HEAP_PIECES ||
	    pieces->nr_bytes + sizeof(struct heap_piece) + nr_bytes > HEAP_SCRIPT_MAX)
		return;
	pieces->at[pieces->nr].start = start;
	pieces->at[pieces->nr++].nr_bytes = nr_bytes;
	pieces->nr_bytes += sizeof(struct heap_piece) + nr_bytes;
}

bool heap_has_piece(const struct heap_pieces *pieces, uint64_t start)
{
	for (uint64_t i = 0; i < pieces->nr; i++) {
		if (pieces->at[i].start == start)
			return true;
	}
	return false;
}

bool heap_can_read(struct heap_follow *walk, uint64_t start, uint64_t nr_bytes)
{
	if (start % sizeof(uint64_t))
		return false;
	if (start >= walk->writable.start && start < walk->writable.end &&
	    walk->writable.end - start >= nr_bytes)
		return true;
	return heap_find_writable(start, nr_bytes, &walk->writable);
}
