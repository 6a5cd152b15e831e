/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HEAP_HEAP_OPTIONS_H
#define PROFC_HEAP_HEAP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* How allocations are sampled. */
struct heap_options {
	uint64_t mean;	      /* bytes; 1 to HEAP_MEAN_MAX; 0: they are not sampled, */
	bool is_all;	      /* or all are recorded */
	uint32_t stack_bytes; /* copied for each at most; up to HEAP_STACK_MAX */
	bool free_stacks;     /* stacks are copied for frees, too */
	bool is_searched;     /* in the end, memory is searched for pointers to live blocks */
};

static inline bool heap_options_are_set(const struct heap_options *options)
{
	return options->mean || options->is_all;
}

#endif
