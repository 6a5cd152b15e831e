/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_CPYTHON_H
#define PROFC_SCRIPT_CPYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "script/cpython_layout.h"
#include "script/evaluator.h"
#include "script/script_walk.h"

struct snapshot;

/* An interpreter in an address space: what all walks of its threads need. Addresses are absolute.
 */
struct cpython {
	struct cpython_layout layout;
	uint64_t code_type;	     /* PyCode_Type */
	uint64_t generator_types[3]; /* of generators, coroutines, asynchronous generators */
	uint64_t runtime;	     /* _PyRuntime, which leads to the lists of threads */
	/* Up to 3.10: PyFrame_Type, and where its module has _PyEval_EvalFrameDefault(). */
	uint64_t frame_type;
	struct script_code_range evaluator[2];
};

/*
 * Is this the state of the snapshot's thread? The thread pointer is the C library's id. It is not
 * known of threads that were never stopped: the kernel's id is that of another one in a namespace
 * of its own, and then the walk refuses it.
 */
bool cpython_is_thread(const struct cpython_layout *layout, const uint8_t *state,
		       const struct snapshot *snapshot);
/*
 * Does the state at `at` evaluate nothing? Up to 3.11 that of a thread that is about to begin has
 * the id of the one that made it until it runs.
 */
bool cpython_is_idle(const struct cpython_layout *layout, const uint8_t *state, uint64_t at);
/*
 * Find the state of the snapshot's thread over the bytes in the snapshot alone, near the beginning
 * of the interpreter's lists. PROVED: its address is in *state; NOT_COPIED: the snapshot lacks what
 * was added to *missing; NO_THREAD: it is not there.
 */
enum script_outcome cpython_find_thread(const struct cpython *python,
					const struct snapshot *snapshot, uint64_t *state,
					struct wanted_memory *missing);

/*
 * Walk the frames of a thread over the bytes in a snapshot; the target is not touched, and any
 * bytes may be there. It has a state in each interpreter that it has run code of: the first one
 * must be its own, others may have been freed. All of these must hold, or no frame is given:
 *
 * - The state is of the thread with the thread pointer of the snapshot, if that is known.
 * - A frame is in the used part of the data stack of this thread, or in a generator (of a type of
 *   the interpreter's) that is executing, or being cleared; that of the leaf may just be leaving.
 * - The outermost frame of an evaluation leads to the frame at which the evaluation below it is.
 * - Each evaluation has a word of its own, _PyCFrame or from 3.12 on its entry frame, in its native
 *   frame: exactly one of `natives`, of the interpreter's module, and their order is the same.
 *
 * Up to 3.10, where frames are objects and each has an evaluation of its own, the last three are:
 *
 * - A frame is an object of that type.
 * - Each native frame of the evaluator has one frame, in the same order, and no frame is left over;
 *   only the innermost evaluator may have none: it has just begun, or is about to return.
 * - Among the words of its own that native frame (a leaf: or its registers) has the address of the
 *   frame, or of the variables in it.
 *
 * Whether `code` of a frame is a code object is for the reader of its name to check: these objects
 * are wanted as well, from the leaf on.
 */
enum script_outcome cpython_walk(const struct cpython *python, const uint64_t *states,
				 size_t nr_states, const struct snapshot *snapshot,
				 const struct script_native *natives, size_t nr_natives,
				 struct script_walk *out);

/*
 * Which memory does the snapshot lack for such a walk, as far as that can be known from what it
 * has? The first that the walk misses, or else code objects of its frames. False: none. Allocates
 * nothing: for use while the thread is stopped. A thread state of 0 is not known: it is looked for
 * first.
 */
bool cpython_find_missing(const struct cpython *python, uint64_t thread_state,
			  const struct snapshot *snapshot, struct wanted_memory *missing);

#endif
