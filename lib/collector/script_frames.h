/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_SCRIPT_FRAMES_H
#define PROFC_COLLECTOR_SCRIPT_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "script/script.h"
#include "stack/stack.h"

struct owner;
struct profile;
struct snapshot;
struct space;
struct thread_hints;
struct unwind_walk;

/* Makes frames of the functions of interpreted programs, for stacks with them. */
struct script_frames;

/* `profile` is borrowed. */
struct script_frames *script_frames_new(struct profile *profile);
void script_frames_free(struct script_frames *frames);

/* A thread with its process; all members are borrowed. */
struct script_subject {
	struct script_process **process; /* NULL at first: made here, by the owner freed */
	struct owner *owner;		 /* set with it: the user that it belongs to */
	struct script_thread *thread;
	/* Learn which memory the next snapshot should have; NULL: it comes with an allocation. */
	struct thread_hints *hints;
	/*
	 * The same snapshot as is walked: what it lacks may be read from the process as it is now.
	 * NULL: it may not.
	 */
	struct snapshot *late;
	struct space *space;
};

/*
 * Look for the interpreter of a process, of which no stack was walked so far. The subject needs no
 * thread.
 */
void script_frames_look(struct script_frames *frames, const struct script_subject *subject);
/*
 * Find the functions that belong to the native frames of a snapshot, and their names. Without any,
 * or if they are not proved, none is left for script_frames_push().
 */
void script_frames_walk(struct script_frames *frames, const struct script_subject *subject,
			const struct snapshot *snapshot, const struct unwind_walk *natives);
/* There are none for the next stack. */
void script_frames_drop(struct script_frames *frames);
/*
 * Add the functions that native frame `native` evaluates to a stack that ends with it. To be called
 * from the outermost native frame on.
 */
struct stack_id script_frames_push(struct script_frames *frames, struct stack_id stack,
				   size_t native);
/* One more process has no functions in its allocations, as it may unload its interpreter. */
void script_frames_count_unloadable(struct script_frames *frames);
/*
 * Set the counters script_proved, script_torn and so on, of walks that had an interpreter, and
 * script_blocks_proved and so on, of those of allocations; and
 * SCRIPT_LACKING: the number of living threads whose last stack lacks its functions, which the next
 * one should have.
 */
void script_frames_set_counters(const struct script_frames *frames, size_t nr_lacking);
#define SCRIPT_LACKING "threads_lacking_script"

#endif
