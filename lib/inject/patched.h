/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_PATCHED_H
#define PROFC_INJECT_PATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "patch/patch_table.h"

struct target_memory;
struct stopped;

/* The bytes at the place of a patch. */
enum patched_state {
	PATCHED_OURS,
	PATCHED_AS_BEFORE, /* the process, or profc, has restored the old bytes */
	PATCHED_OTHER,	   /* the process has written other bytes there */
	/* Its library was unloaded, and perhaps loaded and patched again; or it was never there. */
	PATCHED_GONE,
	/*
	 * A pointer that the program has changed, or a byte that another tool has. They may, and
	 * our memory is not in use for it.
	 */
	PATCHED_REPLACED,
};

/* The patches of a process, found by address or by thunk. Immutable: any thread may use it. */
struct patched {
	struct patch_table patches; /* borrowed; patch_table_is_sound() */
	uint32_t *by_thunk;	    /* owned; NULL: thunks are in the order of patches */
	struct patched_pad {
		uint64_t address;
		uint32_t index; /* of its patch */
	} * pads;		/* owned, by address; those of static probes */
	size_t nr_pads, cap_pads;
	uint64_t start, end;		 /* of all windows */
	uint64_t thunk_start, thunk_end; /* of all thunks, their stubs, and pads */
};

void patched_init(struct patched *patched, const struct patch_table *patches);
void patched_release(struct patched *patched);

/* The number of patches up to this address. */
size_t patched_nr_up_to(const struct patched *patched, uint64_t address);

/*
 * In a process that may run: give it pages of its own where patches will be, so that none is copied
 * while it is stopped. No byte changes. False: other bytes than the old ones are there.
 */
bool patched_prepare(const struct patched *patched, struct target_memory *memory);
/*
 * In a stopped process: replace the old bytes by the new ones, and move threads from within them
 * into the thunks. False, and nothing has changed: other bytes are there, or a thread that was left
 * asleep is within them.
 */
bool patched_apply(const struct patched *patched, struct stopped *stopped,
		   struct target_memory *memory);
/*
 * The reverse: restore the old bytes where ours are, and call patched_leave(). Other bytes, as
 * after a library was unloaded, stay as they are.
 */
bool patched_undo(const struct patched *patched, struct stopped *stopped,
		  struct target_memory *memory, const uint8_t *states);
/*
 * With the old bytes restored, once for all that is in the process: count us out of the semaphores
 * of static probes, where their code still is.
 */
void patched_uncount(const struct patched *patched, struct target_memory *memory,
		     const uint8_t *states);
/*
 * With the old bytes restored: move threads from thunks into the code. `states` is from
 * patched_look(): where other code is by now, threads stay in the thunk. False: a thread cannot be
 * moved from its place, and must run a little.
 */
bool patched_leave(const struct patched *patched, struct stopped *stopped,
		   struct target_memory *memory, const uint8_t *states);

/*
 * For a sample's pc in a thunk, or a stub: the pc in the program, and how far the stack pointer is
 * off. `link` is as for patch_is_in_stub(). False: the pc is in neither.
 */
bool patched_original_pc(const struct patched *patched, pid_t pid, uint64_t pc, uint64_t link,
			 uint64_t *original, unsigned int *pushed_bytes);

#endif
