/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The times of the runs that were merged into a profile, which may overlap. */
#ifndef PROFC_PROFILE_TIMELINES_H
#define PROFC_PROFILE_TIMELINES_H

#include <stddef.h>
#include <stdint.h>

struct profile;

/* The time of one run, by the clock of the profile. */
struct timeline {
	uint64_t begin_ns, end_ns;
};

/*
 * All runs of a profile. A profile that was not merged has one, from 0 to its end. So has a profile
 * that an earlier version merged, as it does not say which run a process belongs to.
 */
struct timelines {
	struct timeline *rows; /* owned, as all here */
	size_t nr;	       /* at least 1 */
	uint32_t *of_process;  /* by process: the row of its run */
	size_t *first_marks;   /* by row: the first mark of its run; one more, for the end */
};

struct timelines *timelines_new(const struct profile *profile);
void timelines_free(struct timelines *timelines); /* may be NULL */

#endif
