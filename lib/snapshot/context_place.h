/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SNAPSHOT_CONTEXT_PLACE_H
#define PROFC_SNAPSHOT_CONTEXT_PLACE_H

#include <stdint.h>

/* How to get from a thread's pointer to the variable that has the address of its context. Zeros:
 * there is none. */
enum context_access {
	CONTEXT_ACCESS_NONE,
	CONTEXT_ACCESS_STATIC,	/* at a fixed distance */
	CONTEXT_ACCESS_DYNAMIC, /* through the vector of the thread's blocks of modules */
};

struct context_place {
	enum context_access access;
	int64_t offset; /* from the thread pointer, or in the block of the module */
	/* DYNAMIC: */
	int64_t vector_at;   /* from the thread pointer: where the address of the vector is */
	uint64_t module;     /* the number of the module: of its entry in the vector */
	uint64_t generation; /* an older vector does not have the module */
};

#endif
