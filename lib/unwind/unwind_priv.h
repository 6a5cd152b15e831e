/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_UNWIND_PRIV_H
#define PROFC_UNWIND_UNWIND_PRIV_H

#include "unwind/unwind.h"

struct libunwind_spaces;

/* What one walk works on. */
struct walk {
	struct space *space;
	const struct snapshot *snapshot;
	const struct unwind_memory *memory; /* may be NULL */
	struct unwind_walk *out;
	size_t max_depth; /* 0: no limit */
	size_t nr_pushed; /* frames found, the left out ones included */
};

/* Without any limit of the user's, a walk still ends somewhere. */
#define WALK_FRAMES_MAX (UINT32_C(1) << 22)

/* Eight bytes of the stack, from the snapshot or what lies beyond it. */
bool walk_read(const struct walk *walk, uint64_t address, uint64_t *value);

/*
 * Add the caller of the frame added last (or the leaf). The code_address of
 * its lookup is returned. Once the limit is reached the frames nearest to the
 * leaf stay and those nearest to the root follow each other in a ring.
 */
struct code_address walk_push(struct walk *walk, uint64_t pc, bool is_exact,
			      enum unwind_method method);

/* Note why the walk ended. `pc` is where it could not go on; 0 with STACK_END_ROOT. */
void walk_end(struct walk *walk, enum stack_end end, uint64_t pc);
/* The same for STACK_END_BAD_MEMORY: which address was missing. */
void walk_end_at(struct walk *walk, uint64_t pc, uint64_t wanted_address);

/* Put the frames kept in the ring into order. Call once, at the end of a walk. */
void walk_finish(struct walk *walk);

/* libunwind over the snapshot: one address space and cache for each space walked. */
struct libunwind_spaces *libunwind_spaces_new(void);
void libunwind_spaces_free(struct libunwind_spaces *spaces);
void libunwind_spaces_forget(struct libunwind_spaces *spaces, const struct space *space);
void libunwind_walk(struct libunwind_spaces *spaces, struct walk *walk);

#endif
