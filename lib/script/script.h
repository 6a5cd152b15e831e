/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_SCRIPT_H
#define PROFC_SCRIPT_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "script/script_walk.h"

struct frame_links;
struct snapshot;
struct space;
struct unwind_walk;

/*
 * The functions of interpreted programs on the stacks of threads. An interpreter is recognised by
 * what its module exports, once that is on a stack; so programs without one cost a look at each
 * module. Of an interpreter whose version or layout is not known, nothing is read.
 *
 * Nothing is stopped here. Used by one thread at a time.
 */

/* Which modules of a recording are of interpreters. */
struct script_modules;

struct script_modules *script_modules_new(void);
void script_modules_free(struct script_modules *modules);

/* The interpreter in an address space, if it has one. */
struct script_process;

/* Both are borrowed. */
struct script_process *script_process_new(struct script_modules *modules, struct space *space);
void script_process_free(struct script_process *process);
/* Its interpreter, such as "Python"; NULL: none was found on its stacks so far. Static. */
const char *script_process_runtime(const struct script_process *process);
/* Its version, such as "3.11"; empty: it is not known. NULL: no interpreter was found. Borrowed. */
const char *script_process_version(const struct script_process *process);
/* Are its frames read, or why not? Valid once it has a version. */
enum script_support script_process_support(const struct script_process *process);
/* Are frames of the interpreter of this name read on this processor, in the versions known? */
bool script_is_read_here(const char *name);
/* Why its interpreter's frames are not read; NULL: they are, or it has none. Static. */
const char *script_process_problem(const struct script_process *process);
/* Has each function of its scripts native code of its own, in the frame that evaluates it? */
bool script_process_has_own_code(const struct script_process *process);

/*
 * Look for an interpreter whose threads find their frames themselves in all that the process has
 * mapped, though none was on a stack so far: others, which the process may have mapped without
 * running them, are found by walks. One that cannot be recognised yet is looked for again by those.
 */
void script_process_look(struct script_process *process);
/* Look for any, in a process that has run for a while: one that is not read is found, too. */
void script_process_find(struct script_process *process);
enum script_links {
	SCRIPT_LINKS_FOUND,
	SCRIPT_LINKS_UNKNOWN, /* or the process has no interpreter */
	/* The process may unload the interpreter: then a thread would read what is not there. */
	SCRIPT_LINKS_UNLOADABLE,
};
/* How a thread of the process itself finds its frames, which it may do at any time. */
enum script_links script_find_links(const struct script_process *process,
				    struct frame_links *links);

/* A thread of such a process; zero-initialised before its first walk. */
struct script_thread {
	uint64_t state;	  /* the address of an interpreter's facts about it; 0: not known */
	bool lacks_bytes; /* its last snapshot did, and the next one should have them */
};

/*
 * Walk the interpreter's frames of a snapshot, whose native frames are in `natives`. With
 * SCRIPT_NONE only out->nr_frames is set.
 */
enum script_outcome script_walk(struct script_process *process, struct script_thread *thread,
				const struct snapshot *snapshot, const struct unwind_walk *natives,
				struct script_walk *out);

/*
 * How the next snapshots of a thread get all that its walks need; it was walked. Without a thread:
 * how the first snapshot of any thread does, as far as that can be known; a walk of one has found
 * an interpreter.
 */
void script_find_more(const struct script_process *process, const struct script_thread *thread,
		      struct wanted_more *more);

/*
 * Read from the process as it is now what the walk of this snapshot lacked, for another one: if
 * the interpreter's frames tell whether it is still the same. False: they do not, or nothing was
 * read.
 */
bool script_read_late(struct script_process *process, const struct script_walk *walk,
		      struct snapshot *snapshot);

/*
 * Where the frames of a walk of this snapshot are in their sources. What is not known yet is read
 * from the process as it is now; an object that is gone by now has no place. The array and its
 * texts are borrowed until the next call.
 */
const struct script_place *script_find_places(struct script_process *process,
					      const struct snapshot *snapshot,
					      const struct script_walk *walk);

/* As struct wait_lock: the lock that one thread of the interpreter has at a time. */
struct script_lock {
	uint64_t start, end, holder_at;
	uint32_t id_offset, library_id_offset;
};

/* Find that lock, after a walk that has proved frames. False: what is there is not known to be one.
 */
bool script_find_lock(struct script_process *process, struct script_lock *lock);

/*
 * After script_find_places(): add to what the walk wants for the next snapshot what that may need
 * besides, and set is_late of what it need not have from the stop itself.
 */
void script_complete_wanted(const struct script_process *process, struct wanted_memory *wanted);

#endif
