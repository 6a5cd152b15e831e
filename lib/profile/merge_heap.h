/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_MERGE_HEAP_H
#define PROFC_PROFILE_MERGE_HEAP_H

#include "profile/heap.h"

struct profile;
struct renumbering;

/* The memory of several profiles, for one profile that has all of it in time order. */
struct heap_merge {
	struct profile_allocation *allocations; /* owned, as moments */
	size_t nr_allocations, cap_allocations;
	struct profile_heap_moment *moments;
	size_t nr_moments, cap_moments;
	struct profile_search *searches;
	size_t nr_searches, cap_searches;
	struct profile_verdict *verdicts; /* by gathered rows */
	size_t nr_verdicts, cap_verdicts;
	struct profile_heap_moment *last; /* owned; by process of the result: all 0 if none */
	size_t nr_last, cap_last;
	uint64_t discarded_ns; /* the first discard; 0: never */
};

/*
 * Gather the rows of one profile. Processes count from 0 in each part, so the amounts that one had
 * allocated by the end of the earlier part are added.
 */
void heap_merge_take(struct heap_merge *merge, const struct profile *from,
		     const struct renumbering *map);
/* Add the gathered rows to a profile that has all rows that they refer to, and release this. */
void heap_merge_finish(struct heap_merge *merge, struct profile *into);

#endif
