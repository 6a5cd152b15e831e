/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_EH_CONTEXT_H
#define PROFC_UNWIND_EH_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

struct eh_layout;
struct walk;

/* What libgcc notes in its own frame while it unwinds for an exception. */
struct eh_notes {
	uint64_t return_address; /* of the frame */
	/*
	 * Where the frame to go to has its frame pointer, which will be, or is, what
	 * this frame has saved; 0: not known.
	 */
	uint64_t target_fp_slot;
};

/* The frame of a function that unwinds for exceptions. */
struct eh_frame {
	uint64_t sp, cfa;
	uint64_t entry; /* of the function, in the target */
};

/*
 * Search the frame for its struct _Unwind_Context: the one of itself, and the one
 * that it wants to get to. False if it has not begun to unwind.
 */
bool eh_context_find(const struct walk *walk, const struct eh_layout *layout,
		     const struct eh_frame *frame, struct eh_notes *notes);

#endif
