/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The face of each interpreter for the rest of this room. */
#ifndef PROFC_SCRIPT_RUNTIME_PRIV_H
#define PROFC_SCRIPT_RUNTIME_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "script/script_walk.h"

struct elf_image;
struct frame_links;
struct script_lock;
struct snapshot;
struct space;

#define SCRIPT_EXPORTS_MAX 52

/* The module of an interpreter in a process. */
struct script_module {
	const char *path;
	uint64_t bias;			      /* an address less that in its file */
	uint64_t exports[SCRIPT_EXPORTS_MAX]; /* absolute addresses */
	struct elf_image *image;	      /* its file, borrowed */
};

struct script_found {
	enum script_support support;
	char version[8]; /* "3.11"; empty: it is not known */
	bool is_early;	 /* it has not begun yet: to be asked again */
};

/* As cpython_walk(). */
typedef enum script_outcome (*script_walk_fn)(const void *facts, const uint64_t *states,
					      size_t nr_states, const struct snapshot *snapshot,
					      const struct script_native *natives,
					      size_t nr_natives, struct script_walk *out);

typedef size_t (*script_others_fn)(void *facts, struct space *space,
				   const struct snapshot *snapshot, uint64_t state,
				   uint64_t *others, size_t max);

/* How script_find_links() finds them. */
struct script_linking {
	/* NULL: a thread does not know where its frames are. */
	bool (*find)(void *facts, struct space *space, struct frame_links *links);
	/* Only where the interpreter is the program itself, and no library of one. */
	bool of_program_alone;
};

/* As struct wanted_more has it. */
struct script_missing {
	bool (*find)(const void *facts, uint64_t thread_state, const struct snapshot *snapshot,
		     struct wanted_memory *missing);
	bool needs_stack, leads_to_late;
};

/*
 * A kind of interpreter. Its functions read the memory of a process through its space, while that
 * runs on; all but walk(), which looks at the snapshot alone.
 */
struct script_runtime {
	const char *name; /* as users know it */
	/*
	 * Is the native frame of each function of its own code, so that nothing else is left out?
	 * Such a frame says which function it is of, and find_places() knows an object that was
	 * read late for what it was in the stop.
	 */
	bool has_own_code;
	/* Only its module exports all of these, which nr_exports counts. */
	const char *exports[SCRIPT_EXPORTS_MAX];
	size_t nr_exports;
	/*
	 * The facts about the interpreter in a process. NULL: its frames are not read, as `found`
	 * says, which is set.
	 */
	void *(*recognise)(struct space *space, const struct script_module *module,
			   struct script_found *found);
	void (*forget)(void *facts);
	/*
	 * The address of its state of the snapshot's thread; 0: it knows no such thread, or cannot
	 * be asked so soon again. NULL: its walks need no state, as for V8, whose functions are on
	 * the stack, and PHP, which has one thread.
	 */
	uint64_t (*find_thread)(void *facts, struct space *space, const struct snapshot *snapshot);
	/* Its other ones, at most `max`, if it has run code of several interpreters. NULL: it has
	 * none. */
	script_others_fn find_others;
	script_walk_fn walk;
	/* As struct wanted_more has it: its facts, of this size, and how to use them. */
	size_t nr_fact_bytes;
	struct script_missing missing;
	struct script_linking links;
	/* As script_find_lock(); NULL: there is none. */
	bool (*find_lock)(void *facts, struct space *space, struct script_lock *lock);
	/* As script_complete_wanted(); NULL: it adds nothing. */
	void (*complete_wanted)(const void *facts, struct wanted_memory *wanted);
	/* As script_find_places(). */
	void (*find_places)(void *facts, struct space *space, const struct snapshot *snapshot,
			    const struct script_frame *frames, size_t nr,
			    struct script_place *places);
};

extern const struct script_runtime cpython_runtime; /* cpython_runtime.c */
/* 3.8 to 3.10. */
extern const struct script_runtime cpython_objects_runtime; /* cpython_runtime.c */
/* Versions before 3.8, whose frames are not read. */
extern const struct script_runtime cpython_old_runtime; /* cpython_old.c */
extern const struct script_runtime v8_runtime;		/* v8_runtime.c */
extern const struct script_runtime php_runtime;		/* php_runtime.c */
/* Other builds and versions, of which no frame is read. */
extern const struct script_runtime php_other_runtime; /* php_runtime.c */
extern const struct script_runtime perl_runtime;      /* perl_runtime.c */
/* Builds without threads: their frames are not read. */
extern const struct script_runtime perl_plain_runtime; /* perl_runtime.c */

#endif
