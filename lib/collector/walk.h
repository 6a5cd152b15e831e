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
struct script_frames;
struct script_subject;
struct snapshot;
struct space;
struct thread_hints;
struct code_filter;

/*
 * When to read the memory map of a process again. A sample is walked some time after it was taken,
 * and the map may have changed before or since. Reading it takes up to milliseconds: so it is read
 * if a walk shows that it is old, and now and then without a reason. All times are CLOCK_MONOTONIC.
 * Zeros are right for a process with a map that was just read.
 */
struct map_watch {
	uint64_t refresh_again_ns; /* not before: the last reading did not help a walk */
	uint64_t refresh_pause_ns;
	uint64_t watch_again_ns;      /* not before: check whether the map is still right */
	uint64_t read_whole_again_ns; /* before this, a question about its code is enough */
	uint64_t calm_since_ns;	      /* no code was seen to change since; 0: it was just now */
	uint64_t restless_until_ns;   /* libraries have changed places */
	uint32_t nr_replaced;	      /* space_nr_replaced(), as of the last walk */
	bool is_gone;	/* the process or its program is gone: there is no map to read */
	bool is_queued; /* for the caller: maps_watch() is due */
};

/*
 * Call this when nothing waits to be walked: reads the map again if it is time to, as for so many
 * processes.
 */
void maps_watch(struct map_watch *watch, struct space *space, size_t nr_watched);

/* Turns snapshots into interned stacks. */
struct walker {
	struct profile *profile; /* borrowed, as are the next three */
	struct unwinder *unwinder;
	struct jit_names *jit_names;
	struct script_frames *scripts;
	struct code_filter *within; /* likewise borrowed, or NULL: all stacks are wanted */
	struct unwind_walk walk;    /* the last one; to be released */
	bool is_outside;	    /* it is not wanted, and not in the profile */
	uint64_t nr_stacks_by_end[STACK_END_COUNT];
};

/*
 * Walk the snapshot of a sample through the address space of its process, and read the map again if
 * the walk shows that it is old. Intern the stack; STACK_EMPTY: it is not wanted. The frames, and
 * the reason for their end, stay in walker.walk. `script`: the thread, to have the functions of an
 * interpreter in the stack; NULL: they are not looked for.
 */
struct stack_id walker_walk(struct walker *walker, struct space *space, struct map_watch *watch,
			    const struct message_sample *sample,
			    const struct script_subject *script);

/* The needs of the walks of a thread's stacks; zero-initialised before the first. */
struct stack_needs {
	uint32_t nr_walks, deepest_bytes; /* the latter: the most that one of them needed */
	uint64_t root_sp;		  /* where the last complete walk ended, */
	uint32_t nr_to_root;		  /* as did so many in a row */
	bool has_other_roots;		  /* where one will end cannot be known before */
};

/* After the walk of a snapshot: set the hints for the thread's next capture. */
void stack_hints_update(struct thread_hints *hints, struct stack_needs *needs,
			const struct snapshot *snapshot, const struct unwind_walk *walk);

#endif
