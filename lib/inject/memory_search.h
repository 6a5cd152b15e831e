/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_MEMORY_SEARCH_H
#define PROFC_INJECT_MEMORY_SEARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct pointer_search;

/* A process whose memory is searched for pointers while all of its threads are stopped. */
struct memory_search {
	pid_t pid;
	pid_t command; /* as of stopped_begin() */
	uint64_t patience_ns;
	struct pointer_search *pointers; /* borrowed */
	/* Is the search to end? The thread that searches asks this often; NULL: it never is. */
	bool (*is_ended)(const void *context);
	const void *context; /* borrowed */
	/* When it stood, by CLOCK_MONOTONIC, for how long, and how much was read of it. */
	uint64_t at_ns, stop_ns, nr_bytes;
};

/*
 * Read all that it may have kept a pointer in: registers, and the memory that is its own, as far
 * as it was ever written to; of stacks what is in use, and nothing of our own probes. Not what is
 * shared with other processes. By a thread that traces nobody. Fails, having found nothing that
 * could be relied on, as stopped_begin() does, where not all of it can be read in ten seconds, or
 * where is_ended() says so.
 */
int memory_search_run(struct memory_search *search, struct err *err);

#endif
