/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Callers by libunwind, for the frames of a walk by rows that no row can say. */
#ifndef PROFC_UNWIND_LIBUNWIND_FOLLOW_H
#define PROFC_UNWIND_LIBUNWIND_FOLLOW_H

#include "unwind/libunwind_space.h"

struct regs;

/*
 * libunwind on its way along a walk, from the leaf on, as only so it knows all registers. It goes
 * that way once: frames are asked for in the order of the walk. For each walk a new one.
 */
struct libunwind_follower {
	struct libunwind_spaces *spaces; /* to be set, as is the next; borrowed */
	const struct walk *walk;
	/* Private, to be zero: */
	enum {
		LIBUNWIND_NOT_BEGUN,
		LIBUNWIND_FOLLOWS,
		LIBUNWIND_LOST, /* it goes no further */
	} state;
	size_t index; /* how many steps from the leaf it is */
	struct access access;
	unw_cursor_t cursor;
};

/*
 * The registers of the caller of the frame that is `index` steps from the leaf. That frame is at pc
 * and has the stack pointer that *regs holds; false if libunwind does not come by there, or no
 * further. `index` is larger than in the calls before.
 */
bool libunwind_caller(struct libunwind_follower *follower, size_t index, uint64_t pc,
		      struct regs *regs);

#endif
