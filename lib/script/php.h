/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PHP_H
#define PROFC_SCRIPT_PHP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "script/php_functions.h"
#include "script/php_layout.h"
#include "script/script_walk.h"

struct snapshot;

/* PHP in an address space: what walks of its threads need. Addresses are absolute. */
struct php {
	const struct php_layout *layout; /* static */
	uint64_t globals;		 /* executor_globals */
	uint64_t generator_class;	 /* of the objects of generators */
	/* Borrowed: those that are known, for walks alone, and not while a thread is stopped. NULL:
	 * none is. */
	const struct php_functions *functions;
};

/* A native frame, with what PHP keeps in registers while its loop runs; leaf first. */
struct php_native {
	uint64_t frame, opline; /* of the loop that runs, or has called this native frame */
	bool has_frame, has_opline;
	bool is_loop;	/* of execute_ex(), the loop that runs functions of scripts */
	uint64_t entry; /* where its function begins; 0: not known */
};

/*
 * Walk the frames of a thread over the bytes in a snapshot; the target is not touched, and any
 * bytes may be there. PHP's frames lead to each other. Each call of its loop from native code runs
 * an entry frame and those that it has called. All of these must hold, or no frame is given:
 *
 * - A frame is in the used part of PHP's stack, or is that of an object of a generator, which leads
 *   back to it, or is a mark without a function on the native stack.
 * - The frames of a loop have a native frame of it, and the register of that has the innermost of
 *   them, or one that this has just called, or is just leaving. Their order is the same.
 *
 * A thread that sleeps in a system call was perhaps not stopped: then the register of its innermost
 * loop is not known, which has the innermost entry if all others are proved, and no loop is left.
 *
 * Only the innermost entry may have no loop: that just begins, or has ended. While a fiber runs,
 * its own frames are given. A native function of PHP's is given where a native frame is in its
 * code. A frame is at an instruction only if that is one of its function's, and is sure: the frame
 * has kept it as it called something, or it is in the loop's register.
 */
enum script_outcome php_walk(const struct php *php, const struct snapshot *snapshot,
			     const struct php_native *natives, size_t nr_natives,
			     struct script_walk *out);

/*
 * Which memory does the snapshot lack for such a walk, as far as that can be known from what it
 * has? False: none. Allocates nothing: for use while the thread is stopped.
 */
bool php_find_missing(const struct php *php, const struct snapshot *snapshot,
		      struct wanted_memory *missing);

#endif
