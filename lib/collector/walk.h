/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_WALK_H
#define PROFC_COLLECTOR_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/stack.h"
#include "stack/stack_end.h"
#include "unwind/unwind.h"

struct jit_names;
struct message_sample;
struct profile;
struct snapshot;
struct space;
struct thread_hints;
struct code_filter;

/*
 * When the memory map of a process is read anew. A sample is walked some time after it was taken,
 * and the map may have changed before or since. Reading it takes up to milliseconds: so it is done
 * where a walk shows it to be old, and for no reason now and then. All times are CLOCK_MONOTONIC;
 * zero-initialised is that of a process whose map has just been read.
 */
struct map_watch {
	uint64_t refresh_again_ns; /* not before: the last time it did not help a walk */
	uint64_t refresh_pause_ns;
	uint64_t watch_again_ns;      /* not before: whether the map is still right */
	uint64_t read_whole_again_ns; /* before, asking after its code will do */
	uint64_t restless_until_ns;   /* libraries have changed places */
	uint32_t nr_replaced;	      /* space_nr_replaced(), as of the last walk */
	bool is_gone;		      /* the process, or its program, is: there is no map to read */
	bool is_queued;		      /* for the caller: maps_watch() is due */
};

/* When nothing waits to be walked: read it anew if it is time to, as for so many processes. */
void maps_watch(struct map_watch *watch, struct space *space, size_t nr_watched);

/* Snapshots become interned stacks. */
struct walker {
	struct profile *profile; /* borrowed, as are the next two */
	struct unwinder *unwinder;
	struct jit_names *jit_names;
	struct code_filter *within; /* likewise borrowed, or NULL: all stacks are wanted */
	struct unwind_walk walk;    /* the last one; to be released */
	bool is_outside;	    /* it was not wanted, and is not in the profile */
	uint64_t nr_stacks_by_end[STACK_END_COUNT];
};

/*
 * Walk the snapshot of a sample through the address space of its process, whose map is read anew
 * where the walk shows it to be old; and intern the stack, unless it is not wanted: STACK_EMPTY is
 * returned then. What the walk found, and why it ended, stays in walker.walk.
 */
struct stack_id walker_walk(struct walker *walker, struct space *space, struct map_watch *watch,
			    const struct message_sample *sample);

/* What the walks of a thread's stacks have needed; zero-initialised before the first. */
struct stack_needs {
	uint32_t nr_walks, deepest_bytes; /* the latter: that any of them needed of a stack */
	uint64_t root_sp;		  /* where the last whole walk ended, */
	uint32_t nr_to_root;		  /* so many of them in a row */
	bool has_other_roots;		  /* it cannot be told beforehand where one will */
};

/* A snapshot was walked: what the next capture of this thread is to go by. */
void stack_hints_update(struct thread_hints *hints, struct stack_needs *needs,
			const struct snapshot *snapshot, const struct unwind_walk *walk);

#endif
