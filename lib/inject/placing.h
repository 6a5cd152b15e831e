/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_PLACING_H
#define PROFC_INJECT_PLACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/*
 * Memory that must be so near to some code that its branches lead from one to the other. To
 * nr_far_bytes of it none leads: the first ones, or the last ones if there is room only so.
 */
struct placing {
	uint64_t first, last; /* of the code */
	uint64_t nr_bytes;    /* wanted, whole pages */
	uint64_t nr_far_bytes;
	uint64_t found; /* the result: free at this moment */
	bool ends_far;	/* likewise: the last ones */
};

/* Find places that do not overlap. ERR_LIMIT: there is no room; ERR_GONE. Nothing is stopped. */
int placing_find(pid_t pid, struct placing *places, size_t nr, struct err *err);

#endif
