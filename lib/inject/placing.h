/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_PLACING_H
#define PROFC_INJECT_PLACING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/*
 * Memory that must be so near to some code that its branches lead from one to the other; and
 * memory to which none leads, which may be apart from it.
 */
struct placing {
	uint64_t first, last;	   /* of the code */
	uint64_t nr_bytes;	   /* wanted, whole pages */
	uint64_t nr_data_bytes;	   /* likewise, apart; 0: none */
	uint64_t data_reach_bytes; /* so near to the other memory */
	/* The results: free at this moment. Without data apart the last one is 0. */
	uint64_t found, found_data;
};

/*
 * Find places that do not overlap. `maps` is a descriptor on the process's maps. ERR_LIMIT: there
 * is no room; ERR_GONE. Nothing is stopped.
 */
int placing_find(pid_t pid, int maps, struct placing *places, size_t nr, struct err *err);

#endif
