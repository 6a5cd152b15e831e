/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spans: how long each call of a gate (gate.h) takes. Each thread keeps the times of its own calls
 * in its copy of the counters (owners.h), without a lock. Recursion is part of the outermost call.
 * A call whose end no probe sees, as its frames are left by longjmp() or with their thread, has
 * begun and adds to nothing else.
 */
#ifndef PROFC_PATCH_SPAN_H
#define PROFC_PATCH_SPAN_H

#include <stdint.h>

/* So many functions are timed at most: each copy has a struct patch_span for each. */
#define PATCH_SPANS_MAX 16

/* Lengths in cycles: each below 16 by itself, then eight for each power of two. */
#define PATCH_SPAN_LENGTHS 496

/* The calls of one thread. Times are those of the processor's clock. */
struct patch_span {
	uint64_t nr_begun;
	uint64_t place;		/* the stack pointer at the entry of the call; 0: there is none */
	uint64_t begin;		/* of that call, or of the last one */
	uint64_t total;		/* of the lengths of calls that have ended, */
	uint64_t longest;	/* and the longest of them: its length, */
	uint64_t longest_begin; /* when it began, */
	uint64_t longest_tid;	/* and the thread's id as it knows that itself; 0: not known */
	uint64_t nr[PATCH_SPAN_LENGTHS]; /* of calls that have ended */
};

/* The least length that counts at an index, up to PATCH_SPAN_LENGTHS; and so the end of another. */
static inline uint64_t patch_span_least(unsigned int index)
{
	unsigned int power = index / 8;

	if (index < 16)
		return index;
	return index < PATCH_SPAN_LENGTHS ? (uint64_t)(8 + index % 8) << (power - 1) : UINT64_MAX;
}

#endif
