/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fetches debug information from debuginfod servers. */
#ifndef PROFC_SYMBOL_DEBUGINFOD_H
#define PROFC_SYMBOL_DEBUGINFOD_H

#include <stdatomic.h>
#include <stdint.h>

struct build_id;

/* How long to wait for an answer. */
struct debuginfod_patience {
	uint64_t deadline_ns;	  /* CLOCK_MONOTONIC */
	const atomic_bool *ended; /* or until another thread sets this; NULL: none does */
};

/*
 * Ask the debuginfod servers of the user for the debug file of a build-id.
 * Returns a descriptor of the file in the user's cache and *path, both the
 * caller's, or -1: not found, no debuginfod library, or no answer in time.
 */
int debuginfod_fetch(const struct build_id *build_id, const struct debuginfod_patience *patience,
		     char **path);

#endif
