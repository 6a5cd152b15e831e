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
	uint64_t since_ns; /* CLOCK_MONOTONIC: nothing was counted before */
	uint64_t nr_cpus;
	/* Sums of all counts, and of the last totals of all processes. */
	uint64_t calls, bytes, numbers;
	uint64_t nr_refused;
};

/* The last believed value of a counter. After one refused value no further one is believed. */
struct believed_count {
	uint64_t calls;
	bool is_spoilt, is_told; /* is_told: for the caller's use */
};

/* The last believed totals of a process' allocations. */
struct believed_totals {
	uint64_t bytes, allocations, dropped, frees;
};

/* Numbers of things that were not counted. */
struct shortfall {
	uint64_t nr_missed;	   /* by threads that found no room in a gate's table */
	uint64_t nr_overlooked;	   /* programs that were never examined */
	uint64_t nr_refused;	   /* records and numbers that are impossible */
	uint64_t nr_slow_dropped;  /* slow calls that are not in the profile */
	uint64_t nr_notes_dropped; /* of calls of futex(2), likewise */
};

/* Nothing was counted before `since_ns`. Asks for the number of CPUs, which takes some file reads.
 */
struct believed believed_since(uint64_t since_ns);
/* The most passes through one place, or calls of an allocator, that are possible up to now. */
uint64_t believed_most(const struct believed *believed);
/* The believed number of calls, for the number that a counter shows. */
uint64_t believed_calls(struct believed *believed, struct believed_count *count, uint64_t calls);
/* Sets the moment to its believed numbers. */
void believed_moment(struct believed *believed, struct believed_totals *totals,
		     struct profile_heap_moment *moment);

#endif
