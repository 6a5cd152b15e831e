/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_BELIEVED_H
#define PROFC_PROBE_BELIEVED_H

#include <stdbool.h>
#include <stdint.h>

struct profile_heap_moment;

/*
 * Exact numbers are read from memory that is shared with processes, which may write anything there.
 * Numbers that no program can have reached by now are refused and counted, and the former ones are
 * kept. So the sums of believed numbers never exceed the limits of a profile.
 */
struct believed {
	uint64_t since_ns; /* CLOCK_MONOTONIC: before that nothing was counted */
	/* In all counts, and in the last totals of all processes. */
	uint64_t calls, bytes, numbers;
	uint64_t nr_refused;
};

/* The last believed value of a counter. After one refused value no further one is believed. */
struct believed_count {
	uint64_t calls;
	bool is_spoilt, is_told; /* the latter is the caller's */
};

/* The last believed totals of a process' allocations. */
struct believed_totals {
	uint64_t bytes, allocations, dropped, frees;
};

/* Numbers of things that were not counted. */
struct shortfall {
	uint64_t nr_missed;	/* by threads that a gate had no room for */
	uint64_t nr_overlooked; /* programs that were not seen */
	uint64_t nr_refused;	/* records that cannot be */
};

/* So many times one place may have been passed, or an allocator called, up to now. */
uint64_t believed_most(const struct believed *believed);
/* Calls up to now, as they are believed, for those that a counter says. */
uint64_t believed_calls(struct believed *believed, struct believed_count *count, uint64_t calls);
/* The moment is set to what is believed. */
void believed_moment(struct believed *believed, struct believed_totals *totals,
		     struct profile_heap_moment *moment);

#endif
