/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_V8_H
#define PROFC_SCRIPT_V8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "script/script_walk.h"

struct snapshot;

/*
 * V8, the engine of Node.js, in an address space: what walks of its threads need. Offsets are
 * those within an object, from its address on; a pointer to an object is that address + 1.
 */
struct v8 {
	/* Its builtin functions, in its module: addresses in the file. */
	uint64_t builtins_start, builtins_end;
	/* All code of its module, in memory, and an address there less that in the file. */
	uint64_t code_start, code_end, bias;
	int32_t fp_function, fp_context; /* from the frame pointer of a function */
	/* Likewise, of one that is interpreted: its bytecodes, and at which of them it is. */
	int32_t fp_bytecodes, fp_offset;
	/* In place of a context: the frame is of code that has called C++. */
	uint64_t exit_mark, builtin_exit_mark;
	uint32_t map;		/* of each object */
	uint32_t shared;	/* of a function: its SharedFunctionInfo */
	uint32_t scope, script; /* of that */
};

/* The address of the object of a pointer; 0: it is none, but a small integer, or a weak one. */
uint64_t v8_object(uint64_t pointer);

/* So many bytes of a function, and of its SharedFunctionInfo, are copied: those that walks need. */
uint32_t v8_function_bytes(const struct v8 *v8);
uint32_t v8_shared_bytes(const struct v8 *v8);

/*
 * Walk the functions of a thread over the bytes in a snapshot; the target is not touched, and any
 * bytes may be there. All code that V8 makes, and its builtin functions, keep a chain of frame
 * pointers: a native frame of such code has its own function below its frame pointer, and a context
 * above that. A frame without these is none of a function, or is just beginning or ending: then it
 * is left out, as each frame is proved for itself. Whether that is a function indeed is for the
 * reader of its name to check.
 *
 * The interpreter keeps in its frame at which bytecode it is only where V8 may look at the stack:
 * where the function has called another one, or C++ that knows of its frames. So a frame has its
 * bytecodes if it is interpreted, and such a frame is above it.
 *
 * SCRIPT_PROVED, or SCRIPT_NOT_COPIED where the snapshot lacks the objects of some functions, which
 * are left out, and wanted like all others.
 */
enum script_outcome v8_walk(const struct v8 *v8, const struct snapshot *snapshot,
			    const struct script_native *natives, size_t nr_natives,
			    struct script_walk *out);

/*
 * Which memory does the snapshot lack for such a walk, as far as that can be known from its stack?
 * False: none. Allocates nothing: for use while the thread is stopped.
 */
bool v8_find_missing(const struct v8 *v8, const struct snapshot *snapshot,
		     struct wanted_memory *missing);

#endif
