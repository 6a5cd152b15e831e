/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STACK_STACK_END_H
#define PROFC_STACK_STACK_END_H

#include <stdbool.h>

/*
 * Why the walk of a stack ended. The numbers are part of the file format
 * (man/profc-data.5): append only.
 */
enum stack_end {
	STACK_END_ROOT = 0,	   /* the outermost frame of a thread, and that is proved */
	STACK_END_NO_MAPPING = 1,  /* a pc outside every known mapping */
	STACK_END_NO_CFI = 2,	   /* code without unwind information and no frame pointer */
	STACK_END_NO_FILE = 3,	   /* the module's file could not be read */
	STACK_END_BAD_CFI = 4,	   /* unwind information that contradicts itself */
	STACK_END_BAD_MEMORY = 5,  /* a saved register outside everything that was copied */
	STACK_END_UNKNOWN_REG = 6, /* needs a register with an unknown value */
	STACK_END_DEPTH_LIMIT = 7, /* --max-depth: both ends are kept, the middle is elided */
	STACK_END_LOOP = 8,	   /* the frames stopped climbing the stack */
	STACK_END_NOT_TAKEN = 9,   /* no stack was taken: the thread could not be sampled */
	STACK_END_FOREIGN = 10,	   /* code of a 32-bit program, or of another machine */
	STACK_END_SERVED =
		11, /* the stack is mapped from a file served by a process or another host */
	/* The first frame on a stack that the thread switched to: a coroutine, a system stack of Go
	 */
	STACK_END_OTHER_STACK = 12,
	/* It looks like the outermost frame, but nothing proves that. */
	STACK_END_UNPROVED = 13,
	STACK_END_WORKER = 14, /* a thread that the kernel runs for the process (io_uring) */
	STACK_END_COSTLY = 15, /* the walk took more work than it may: see unwinder_walk() */
	STACK_END_COUNT,
};

/*
 * Does the stack reach a proved root? A stack limited by --max-depth does: only its middle is
 * elided.
 */
bool stack_end_is_complete(enum stack_end end);
/* "root", "no CFI", … for tables. */
const char *stack_end_name(enum stack_end end);
/*
 * Advice for the user, or the meaning; NULL for the root. JIT-compiled code and files have
 * different remedies.
 */
const char *stack_end_remedy(enum stack_end end, bool is_jit);

#endif
