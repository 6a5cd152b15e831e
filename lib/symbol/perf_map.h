/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_PERF_MAP_H
#define PROFC_SYMBOL_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct result_builder;
struct symbol_result;

/*
 * Code that a just-in-time compiler made is named by a file that the runtime
 * writes for profilers: lines of start, size (both hexadecimal) and name.
 */

/* What a perf map must be to be believed. */
struct perf_map_request {
	pid_t pid; /* as seen from here */
	/* The process began then, in ns since the epoch: an older file is of another one. 0: not
	 * known. */
	uint64_t started_realtime_ns;
	const uint64_t *addresses; /* ascending, distinct, absolute */
	size_t nr_addresses;
};

/*
 * Read /tmp/perf-PID.map as the process sees it, by its root and its own
 * number, or as we do once it has ended. It must be a regular file, no link, of
 * the user of the process or root. 0 and *result, the caller's, or a failure
 * with the reason.
 */
int perf_map_resolve(const struct perf_map_request *request, struct symbol_result **result,
		     struct err *err);

/* Name addresses by the text of a map; of overlapping lines the last counts. */
void perf_map_parse(const char *text, size_t nr_bytes, const uint64_t *addresses, size_t nr,
		    struct result_builder *builder);

#endif
