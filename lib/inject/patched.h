/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_PATCHED_H
#define PROFC_INJECT_PATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "patch/patch.h"

struct target_memory;
struct stopped;

/* What stands where a patch was put. */
enum patched_state {
	PATCHED_OURS,
	PATCHED_AS_BEFORE, /* the process, or profc, has written the old bytes there again */
	PATCHED_OTHER,	   /* the process has written other bytes there */
	/* Its library was unloaded, and perhaps loaded and patched again; or it never was there. */
	PATCHED_GONE,
};

/* A process' patches, sorted for both ways of asking. Immutable once made: any thread may ask. */
struct patched {
	const struct patch *patches; /* borrowed; region_patches_are_sound() */
	uint32_t *by_thunk;	     /* owned */
	size_t nr;
	uint64_t start, end;		 /* of all windows */
	uint64_t thunk_start, thunk_end; /* of all thunks */
};

void patched_init(struct patched *patched, const struct patch *patches, size_t nr);
void patched_release(struct patched *patched);

/* The last patch at or before an address, or NULL. */
const struct patch *patched_before(const struct patched *patched, uint64_t address);

/*
 * In a process that may run: have pages of its own where patches will be, so that these need not be
 * copied while it is stopped. Nothing in it changes. False: other bytes than the old ones are
 * there.
 */
bool patched_prepare(const struct patched *patched, struct target_memory *memory);
/*
 * In a stopped process: have the new bytes where the old ones are, and threads that stand within
 * them go on in the thunks. False, and nothing has changed, where other bytes are there, or where
 * one that was left asleep stands within them.
 */
bool patched_apply(const struct patched *patched, struct stopped *stopped,
		   struct target_memory *memory);
/*
 * The reverse: old bytes where ours are (others, as of a library that was unloaded, are left as
 * they are), and patched_leave().
 */
bool patched_undo(const struct patched *patched, struct stopped *stopped,
		  struct target_memory *memory, const uint8_t *states);
/*
 * With the old bytes back: threads that stand in thunks continue in the code. `states` are those
 * of patched_look(): where other code stands, threads stay in the thunk. False: one cannot be moved
 * from where it is, and must run a little.
 */
bool patched_leave(const struct patched *patched, struct stopped *stopped,
		   struct target_memory *memory, const uint8_t *states);

/*
 * Where a sample's thread stands in the program, for a pc in a thunk; how far its stack pointer is
 * off. False: the pc is in none.
 */
bool patched_original_pc(const struct patched *patched, pid_t pid, uint64_t pc, uint64_t *original,
			 unsigned int *pushed_bytes);

#endif
