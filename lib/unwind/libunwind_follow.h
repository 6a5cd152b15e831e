/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Callers by libunwind, for the frames of a walk that rows cannot express. */
#ifndef PROFC_UNWIND_LIBUNWIND_FOLLOW_H
#define PROFC_UNWIND_LIBUNWIND_FOLLOW_H

#include "unwind/libunwind_space.h"

struct regs;

/*
 * libunwind following a walk from the leaf on, which is how it learns all registers. It moves only
 * towards the root: request frames in the order of the walk. Use a new one for each walk.
 */
struct libunwind_follower {
	struct libunwind_spaces *spaces; /* set by the user, like the next; borrowed */
	const struct walk *walk;
	/* Private, initially 0: */
	enum {
		LIBUNWIND_NOT_BEGUN,
		LIBUNWIND_FOLLOWS,
		LIBUNWIND_LOST, /* it cannot continue */
	} state;
	size_t index; /* its number of steps from the leaf */
	struct access access;
	unw_cursor_t cursor;
};

/*
 * The registers of the caller of the frame that is `index` steps from the leaf. That frame is at pc
 * and has the stack pointer in *regs; false if libunwind does not reach it, or cannot continue from
 * it. `index` is larger than in the calls before.
 */
bool libunwind_caller(struct libunwind_follower *follower, size_t index, uint64_t pc,
		      struct regs *regs);

#endif
