/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notes of calls of futex(2): threads write one before each call, a wait as well as a wake, into a
 * ring that all share, without a lock and without the stack. The order of the notes is nearly that
 * in which the kernel gets the calls.
 */
#ifndef PROFC_PATCH_NOTE_H
#define PROFC_PATCH_NOTE_H

#include <stdint.h>

/* A power of two. */
#define PATCH_NOTES 131072

struct patch_note {
	uint64_t number;     /* from 1 on: written last */
	uint64_t taken;	     /* the number while the note is written, less one */
	uint64_t time;	     /* of the processor's clock */
	uint64_t word;	     /* the address of the futex */
	uint64_t other_word; /* of calls with two; else anything, as other_value */
	uint64_t caller;     /* the return address of the function that makes the call; or 0 */
	uint32_t operation, value, other_value;
	uint32_t tid; /* the thread's id as it knows that itself; 0: not known */
};

/* The parts are in different cache lines, of which processors fetch two at a time. */
struct patch_notes {
	uint64_t nr; /* numbers that were taken */
	uint64_t padding[15];
	struct patch_note notes[PATCH_NOTES]; /* by number - 1, modulo the size */
};

/* Where a return address is, as an offset from the stack pointer: one more word; 0: not known. */
#define PATCH_RETURN_AT(offset) ((uint16_t)((offset) / 8 + 1))

#endif
