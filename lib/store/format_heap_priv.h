/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STORE_FORMAT_HEAP_PRIV_H
#define PROFC_STORE_FORMAT_HEAP_PRIV_H

#include <stdint.h>

#include "profile/heap.h"

/* The columns of memory, as those of format_columns_priv.h. */
enum allocations_column {
	ALLOCATIONS_ROW,
	ALLOCATIONS_TIME,
	ALLOCATIONS_LIFE,
	ALLOCATIONS_FREED_BY,
	ALLOCATIONS_SIZE,
	ALLOCATIONS_MEAN,
	ALLOCATIONS_THREAD,
	ALLOCATIONS_STACK,
	ALLOCATIONS_KIND,
	ALLOCATIONS_END,
	ALLOCATIONS_FORMER,
	ALLOCATIONS_MOVED,
	ALLOCATIONS_FREED_STACK,
	ALLOCATIONS_FREED_END,
	ALLOCATIONS_MORE,
	ALLOCATIONS_LIVED,
	ALLOCATIONS_PART,
	ALLOCATIONS_EARLIER,
};

enum moments_column {
	MOMENTS_TIME,
	MOMENTS_PROCESS,
};

enum searched_column {
	SEARCHED_ROW,
	SEARCHED_STATE,
};

enum verdicts_column {
	VERDICTS_ROW = 1,
};

/*
 * The state of coding moments, over the whole file: numbers of a process are differences from those
 * of its previous moment.
 */
struct moment_coder {
	struct profile_heap_moment *last; /* by process; owned */
	size_t nr_processes, cap_processes;
	uint64_t previous_ns; /* of the row before, of any process */
};

void moment_coder_release(struct moment_coder *coder);
/* The previous moment of a process, all 0 for the first. Borrowed until the next call. */
struct profile_heap_moment *moment_coder_last(struct moment_coder *coder, uint32_t process);

#endif
