/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PERL_WALK_H
#define PROFC_SCRIPT_PERL_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "script/script_walk.h"

struct perl;
struct snapshot;

/* Reads memory of the process; false: it cannot. */
typedef bool (*perl_read_fn)(void *from, uint64_t at, void *out, size_t nr_bytes);

/* The interpreter of the snapshot's thread, found by `read`; 0: it has none, or cannot be found. */
uint64_t perl_find_thread(const struct perl *perl, const struct snapshot *snapshot,
			  perl_read_fn read, void *from);

/*
 * Walk the contexts of an interpreter over the bytes in a snapshot; the target is not touched, and
 * any bytes may be there.
 *
 * Perl runs operations in a loop, a native function that has a frame on the stack as often as C
 * called Perl. Which contexts began a loop is known: a sub that returns to C, a block of a sort;
 * and an eval, if its jump buffer is in the native frame that called the loop. Each is proved by
 * the function that called its loop, and each loop has to have one: else no frame is claimed.
 */
enum script_outcome perl_walk(const struct perl *perl, uint64_t interpreter,
			      const struct snapshot *snapshot, const struct script_native *natives,
			      size_t nr_natives, struct script_walk *out);

/*
 * Which memory does the snapshot lack for such a walk, as far as that is known from what it has?
 * False: none. `interpreter` is 0 if it is not known. Allocates nothing: for use while the thread
 * is stopped.
 */
bool perl_find_missing(const struct perl *perl, uint64_t interpreter,
		       const struct snapshot *snapshot, struct wanted_memory *missing);

#endif
