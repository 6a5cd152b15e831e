/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_SCRIPT_WALK_H
#define PROFC_SCRIPT_SCRIPT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/wanted.h"

struct elf_image;

/*
 * The result of a walk of an interpreter's own frames, over copied bytes. A frame is in the result
 * only if it is proved, and it is known in which native frame its evaluation runs: where the frames
 * lead to each other (CPython) either all are given or none.
 */
enum script_outcome {
	SCRIPT_NONE,		/* no code of a known interpreter is on the stack */
	SCRIPT_PROVED,		/* all frames, perhaps none: the thread evaluates nothing */
	SCRIPT_NO_THREAD,	/* the interpreter does not know the thread */
	SCRIPT_NOT_COPIED,	/* the snapshot lacks some bytes: they are among the wanted ones */
	SCRIPT_TOO_DEEP,	/* more frames, or bytes, than are copied */
	SCRIPT_TORN,		/* its frames contradict each other: it was just changing them */
	SCRIPT_NOT_GENERATOR,	/* a frame outside the stack, and not in a generator that runs */
	SCRIPT_NO_NATIVE_FRAME, /* an evaluation outside the interpreter's native frames */
	SCRIPT_OUTCOME_COUNT,
};

/* Are the frames of an interpreter read? */
enum script_support {
	SCRIPT_READ,
	SCRIPT_UNKNOWN_VERSION, /* there is no layout for its version */
	SCRIPT_OTHER_LAYOUT,	/* it is not laid out as its version is, as without the GIL */
	SCRIPT_THREAD_SAFE, /* it was built for several threads, which have globals of their own */
	SCRIPT_COMPILED,    /* a compiler makes native code of functions while they run */
	SCRIPT_OTHER_PROCESSOR, /* they are read on x86-64 alone */
	SCRIPT_SUPPORT_COUNT,
};

/* "read", "unknown version", "other layout", and so on. */
const char *script_support_name(enum script_support support);

/* "proved", "not copied", and so on. */
const char *script_outcome_name(enum script_outcome outcome);

/* A native frame, as a walk needs it; leaf first. */
struct script_native {
	uint64_t sp;		 /* its stack pointer, as its callee returns to it */
	uint64_t address;	 /* its code, as its module has it */
	uint64_t bias;		 /* where it is in the process, less that */
	struct elf_image *image; /* the file of its module, borrowed; NULL: it has none */
	bool is_interpreter;	 /* of the interpreter's own module */
	bool is_generated;	 /* in memory that is no file's: a compiler at run time made it */
};

struct script_frame {
	uint64_t code;	      /* the object of its function */
	uint64_t instruction; /* the address of the instruction that it is at */
	/* V8 only: the object with its bytecodes, as the frame has it; 0: it is not known. */
	uint64_t bytecodes;
	bool is_compiled; /* by V8; else `instruction` is an offset in them, as the frame keeps it
			   */
	size_t native;	  /* the native frame that evaluates it: an index */
};

/* Where a frame is in its source. */
struct script_place {
	const char *name;    /* of the function, qualified by its class; NULL: its object is gone */
	const char *file;    /* as the program gives it; in brackets, without a line: none */
	uint32_t first_line; /* of the function */
	uint32_t line;	     /* 0: it has none */
	/* It is the interpreter's own, or not known for sure: its native frame says more. */
	bool is_native;
};

/* Zero-initialised is ready; reused from walk to walk. */
struct script_walk {
	struct script_frame *frames; /* owned; leaf first */
	size_t nr_frames, cap_frames;
	/* Which state of the thread has the leaf, or is the reason why there are no frames. */
	size_t leaf_state;
	/* Memory that the next walk of this thread probably needs, whatever the outcome. */
	struct wanted_memory wanted;
};

void script_walk_release(struct script_walk *walk);

#endif
