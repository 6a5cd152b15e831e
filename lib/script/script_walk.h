/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_SCRIPT_WALK_H
#define PROFC_SCRIPT_SCRIPT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The result of a walk of an interpreter's own frames, over copied bytes. Either all frames are
 * proved, or none is given: a frame is in the result only if it is known in which native frame its
 * evaluation runs.
 */
enum script_outcome {
	SCRIPT_PROVED,		/* all frames, perhaps none: the thread evaluates nothing */
	SCRIPT_NO_THREAD,	/* the interpreter does not know the thread */
	SCRIPT_NOT_COPIED,	/* the snapshot lacks some bytes: they are among the wanted ones */
	SCRIPT_TOO_DEEP,	/* more frames, or bytes, than are copied */
	SCRIPT_TORN,		/* its frames contradict each other: it was just changing them */
	SCRIPT_NOT_GENERATOR,	/* a frame outside the stack, and not in a generator that runs */
	SCRIPT_NO_NATIVE_FRAME, /* an evaluation outside the interpreter's native frames */
	SCRIPT_OUTCOME_COUNT,
};

/* "proved", "not copied", and so on. */
const char *script_outcome_name(enum script_outcome outcome);

/* A native frame, as a walk needs it; leaf first. */
struct script_native {
	uint64_t sp;	     /* its stack pointer, as its callee returns to it */
	bool is_interpreter; /* of the interpreter's own module */
};

struct script_frame {
	uint64_t code;	      /* the object of its function */
	uint64_t instruction; /* the address of the instruction that it is at */
	size_t native;	      /* the native frame that evaluates it: an index */
};

/* Memory of the target, [start, start + nr_bytes). */
struct script_range {
	uint64_t start;
	uint32_t nr_bytes;
};

#define SCRIPT_RANGES_MAX	32
#define SCRIPT_RANGES_BYTES_MAX (UINT32_C(256) << 10)

struct script_ranges {
	struct script_range at[SCRIPT_RANGES_MAX];
	size_t nr;
	uint32_t nr_bytes;
};

/*
 * Add a range; one that overlaps another, or continues it, extends that. False: there is no room
 * for it.
 */
bool script_ranges_add(struct script_ranges *ranges, uint64_t start, uint64_t nr_bytes);

/* Zero-initialised is ready; reused from walk to walk. */
struct script_walk {
	struct script_frame *frames; /* owned; leaf first */
	size_t nr_frames, cap_frames;
	/* Memory that the next walk of this thread probably needs, whatever the outcome. */
	struct script_ranges wanted;
};

void script_walk_release(struct script_walk *walk);

#endif
