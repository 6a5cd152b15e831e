/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_HEAP_FORGET_H
#define PROFC_PROFILE_HEAP_FORGET_H

#include <stddef.h>
#include <stdint.h>

struct heap_gather;

/* How much of memory a recording keeps that has no file. Zero: everything. */
struct heap_keep {
	uint64_t span_ns; /* blocks that were alive in the last so much time */
	size_t max_rows;  /* but no more than these */
};

/*
 * Remove the rows of blocks that were freed, or the processes of which ended, before before_ns.
 * If too many rows are left, some that were freed later go as well, or all of them; then the oldest
 * ones that are alive, which the counter mem_forgotten counts: their frees are unknown ones.
 * profile.heap.forgotten_ns tells from when on all blocks are known. Moments before before_ns go,
 * too. Row numbers change, in the gatherer as well; nothing else may have any. So do the numbers of
 * mappings: they are returned, by the former one, UINT32_MAX for one that went; the caller frees
 * them. With HEAP_ROWS_EACH only.
 */
uint32_t *heap_gather_forget(struct heap_gather *gather, uint64_t before_ns, uint64_t now_ns,
			     size_t max_rows);

#endif
