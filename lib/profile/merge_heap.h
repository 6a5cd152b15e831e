/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_MERGE_HEAP_H
#define PROFC_PROFILE_MERGE_HEAP_H

#include "profile/heap.h"

struct profile;

/* What was recorded of memory in several profiles, for one in which all of it is in time order. */
struct heap_merge {
	struct profile_allocation *allocations; /* owned, as moments */
	size_t nr_allocations, cap_allocations;
	struct profile_heap_moment *moments;
	size_t nr_moments, cap_moments;
	struct profile_search *searches;
	size_t nr_searches, cap_searches;
	struct profile_verdict *verdicts; /* by rows that were gathered here */
	size_t nr_verdicts, cap_verdicts;
	struct profile_heap_moment *last; /* owned; by process of the result: all 0 if none */
	size_t nr_last, cap_last;
	uint64_t discarded_ns; /* the first time that something was; 0: never */
};

/* What the ids and times of a profile are in the result. */
struct heap_merge_map {
	const uint32_t *processes, *threads;
	const struct stack_id *stacks;
	const struct str_id *strings;
	uint64_t offset_ns;
};

/*
 * Gather those of one profile. What a process had allocated by the end of a part that was taken
 * before, is added to what it allocates in this one: each began to count anew.
 */
void heap_merge_take(struct heap_merge *merge, const struct profile *from,
		     const struct heap_merge_map *map);
/* Add what was gathered to a profile that has all rows that it refers to, and release it. */
void heap_merge_finish(struct heap_merge *merge, struct profile *into);

#endif
