/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_WALK_H
#define PROFC_COLLECTOR_WALK_H

#include "stack/stack.h"
#include "stack/stack_end.h"
#include "unwind/unwind.h"

struct jit_names;
struct map_watch;
struct message_sample;
struct profile;
struct space;

/* Snapshots become interned stacks. */
struct walker {
	struct profile *profile; /* borrowed, as are the next two */
	struct unwinder *unwinder;
	struct jit_names *jit_names;
	struct unwind_walk walk; /* the last one; to be released */
	uint64_t nr_stacks_by_end[STACK_END_COUNT];
};

/* An interned stack and why its walk ended. */
struct walked_stack {
	struct stack_id id;
	enum stack_end end;
};

/*
 * Walk the snapshot of a sample through the address space of its process, whose map is read anew
 * where the walk shows it to be old; and intern the stack. What the walk found stays in
 * walker.walk.
 */
struct walked_stack walker_walk(struct walker *walker, struct space *space, struct map_watch *watch,
				const struct message_sample *sample);

#endif
