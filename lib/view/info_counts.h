/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_INFO_COUNTS_H
#define PROFC_VIEW_INFO_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "view/style.h"

struct buf;
struct profile;
struct sink;

/* A summary of the exact counts of a recording. */
struct counted {
	uint64_t functions, calls; /* distinct places: where functions begin; call instructions */
	uint64_t nr_of_functions, nr_of_calls; /* the number of their calls */
	uint64_t processes;
	uint64_t from_start;	/* of these, those with complete counts */
	uint64_t first_from_ns; /* when the earliest other process began to be counted */
	/* functions and calls that could not be counted, each once for all processes */
	uint64_t refused;
};

struct counted counted_of(const struct profile *profile);

/*
 * Append "counted 1,234 calls of 3 functions; 1 could not be", in one line. False, and nothing
 * appended, if counts were not requested.
 */
bool info_append_counts(struct buf *out, const struct profile *profile);

/*
 * The counts, their start and their cost; then the functions and calls that could not be counted,
 * by reason with some names each. Nothing if counts were not requested.
 */
void info_print_counts(const struct profile *profile, const struct view *view, struct sink *sink);

#endif
