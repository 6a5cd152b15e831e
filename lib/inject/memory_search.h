/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_MEMORY_SEARCH_H
#define PROFC_INJECT_MEMORY_SEARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct pointer_search;

/* A search for pointers in the memory of a process, with all of its threads stopped. */
struct memory_search {
	pid_t pid;
	pid_t command; /* as for stopped_begin() */
	uint64_t patience_ns;
	struct pointer_search *pointers; /* borrowed */
	/* Is the search to end? The searching thread asks often; NULL: it is not. */
	bool (*is_ended)(const void *context);
	const void *context; /* borrowed */
	/* Results: when (CLOCK_MONOTONIC) and how long it was stopped, and the bytes read. */
	uint64_t at_ns, stop_ns, nr_bytes;
};

/*
 * Read everything in which the process may keep a pointer: registers, and private memory that was
 * ever written to; of stacks only the part in use. Memory that is shared with other processes, and
 * that of our probes, is left out. The calling thread must not trace anything. Fails as
 * stopped_begin() does, if not all can be read in ten seconds, or if is_ended() says so: the
 * results mean nothing then.
 */
int memory_search_run(struct memory_search *search, struct err *err);

#endif
