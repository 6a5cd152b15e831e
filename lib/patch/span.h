/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spans: how long each call of a gate (gate.h) takes. Each thread keeps the times of its own calls
 * in its copy of the counters (owners.h), without a lock. Recursion is part of the outermost call.
 * A call whose end no probe sees, as its frames are left by longjmp() or with their thread, has
 * begun and adds to nothing else. Of slow calls all threads keep when each was, in a ring.
 *
 * A span may also be the time from one place to another, in one thread: then it begins anew where
 * the first is passed again.
 */
#ifndef PROFC_PATCH_SPAN_H
#define PROFC_PATCH_SPAN_H

#include <stdint.h>

/* So many functions are timed at most: each copy has a struct patch_span for each. */
#define PATCH_SPANS_MAX 16

/* Lengths in cycles: each below 16 by itself, then eight for each power of two. */
#define PATCH_SPAN_LENGTHS 496

/* From one place to another: above all stack pointers, as it ends wherever the thread is then. */
#define PATCH_SPAN_ANYWHERE UINT64_MAX

/* The calls of one thread. Times are those of the processor's clock. */
struct patch_span {
	uint64_t nr_begun;
	uint64_t place;		/* the stack pointer at the entry of the call, or
				   PATCH_SPAN_ANYWHERE; 0: there is none */
	uint64_t begin;		/* of that call, or of the last one */
	uint64_t length;	/* of the last call that has ended */
	uint64_t total;		/* of the lengths of calls that have ended, */
	uint64_t longest;	/* and the longest of them: its length, */
	uint64_t longest_begin; /* when it began, */
	uint64_t longest_tid;	/* and the thread's id as it knows that itself; 0: not known */
	uint64_t nr[PATCH_SPAN_LENGTHS]; /* of calls that have ended */
};

/* A power of two. */
#define PATCH_SLOW_CALLS 4096

/* A slow call. */
struct patch_slow_call {
	uint64_t begin, length;
	uint64_t tid;	 /* as longest_tid */
	uint64_t number; /* from 1 on: written last */
};

/*
 * The slow calls of a function, of all threads. A thread takes the next number, and then writes its
 * record over the one that is PATCH_SLOW_CALLS older. The parts are in different cache lines, of
 * which processors fetch two at a time.
 */
struct patch_slow {
	uint64_t least; /* calls as long as this, or longer, are slow; profc changes it */
	uint64_t padding[15];
	uint64_t nr; /* numbers that were taken */
	uint64_t more_padding[15];
	struct patch_slow_call calls[PATCH_SLOW_CALLS]; /* by number - 1, modulo the size */
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
