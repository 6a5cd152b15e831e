/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the contexts that libgcc's unwinder keeps while it handles an exception. */
#ifndef PROFC_UNWIND_EH_CONTEXT_H
#define PROFC_UNWIND_EH_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eh_layout;
struct walk;

/*
 * A frame that the exception may go to: the CFA of the frame that it called, the pc where it
 * continues, and the address of its frame pointer, which libgcc's frame has saved or will save.
 */
struct eh_target {
	uint64_t cfa, pc, fp_slot;
};

#define EH_TARGETS_MAX 4

/* The notes in libgcc's own frame while it unwinds for an exception. */
struct eh_notes {
	uint64_t return_address; /* of the frame */
	/* One of them is true; others may be left from an earlier exception. */
	struct eh_target targets[EH_TARGETS_MAX];
	size_t nr_targets;
};

/* The frame of a function that unwinds for exceptions. */
struct eh_frame {
	uint64_t sp, cfa;
	uint64_t entry; /* of the function, in the target */
};

/*
 * Search the frame for its structs _Unwind_Context: its own, and those of the frames that the
 * exception may go to. False if it has not begun to unwind.
 */
bool eh_context_find(const struct walk *walk, const struct eh_layout *layout,
		     const struct eh_frame *frame, struct eh_notes *notes);

#endif
