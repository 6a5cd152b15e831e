/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SNAPSHOT_WANTED_H
#define PROFC_SNAPSHOT_WANTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/context_place.h"
#include "snapshot/snapshot.h"

/* Memory of the target, [start, start + nr_bytes). */
struct wanted_range {
	uint64_t start;
	uint32_t nr_bytes;
	bool is_late; /* it hardly ever changes: a copy right after the stop is enough */
};

/* Python 3.8 has 456 bytes for a small frame, and lets programs go 1,000 deep. */
#define WANTED_BYTES_MAX (UINT32_C(512) << 10)

/* Memory beside the stacks that the next snapshot of a thread should have. */
struct wanted_memory {
	struct wanted_range at[SNAPSHOT_WANTED_MAX];
	size_t nr;
	uint32_t nr_bytes; /* of all */
};

#define WANTED_FACTS_BYTES 256

/*
 * How to find out what else a snapshot should have, from what it has. A plain value, to be copied;
 * what find() reads of the target is in the snapshot.
 */
struct wanted_more {
	/* Add what is missing; false: nothing is. NULL: not known. */
	bool (*find)(const void *facts, uint64_t subject, const struct snapshot *snapshot,
		     struct wanted_memory *missing);
	uint64_t subject; /* the thread, to find() */
	/* Late regions are needed only where copied memory has an address in them. */
	bool leads_to_late;
	bool needs_stack; /* find() looks into all of the stack even where no registers are known */
	_Alignas(uint64_t) uint8_t facts[WANTED_FACTS_BYTES];
	struct context_place context; /* what the thread works on is to be copied, too */
};

/*
 * Add a range; one that overlaps another, or continues it, extends that. False: there is no room
 * for it.
 */
bool wanted_memory_add(struct wanted_memory *wanted, uint64_t start, uint64_t nr_bytes);
/* Add what `more` has besides, as far as there is room; ranges that only adjoin stay apart. */
void wanted_memory_unite(struct wanted_memory *wanted, const struct wanted_memory *more);
/* By address: ranges that are near each other are copied as one. */
void wanted_memory_sort(struct wanted_memory *wanted);

#endif
