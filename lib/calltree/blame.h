/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_BLAME_H
#define PROFC_CALLTREE_BLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/blame_stacks.h"

struct buf;
struct err;
struct expansion;
struct observation;
struct profile;
struct profile_process;
struct profile_wait;

/*
 * The objects that threads waited for, locks and descriptors: each with the threads that waited and
 * the functions in which they did; and for locks, the owners in that time and what these were
 * doing, as far as they were sampled then.
 */
struct blame;

/* The name of all objects that are too many to have names of their own. */
#define BLAME_OTHERS "[others, too many to tell apart]"

enum blame_what {
	BLAME_OBJECT,	    /* the lock, or descriptor, of `wait` */
	BLAME_OTHER,	    /* the thread was blocked, but by none of these */
	BLAME_RUNNING,	    /* it was not blocked */
	BLAME_UNATTRIBUTED, /* its activity then is not known */
	BLAME_WHAT_COUNT,
};

struct blame_object {
	enum blame_what what;
	uint32_t wait; /* one of the waits for it, a row of profile.waits */
	enum lock_kind kind;
	bool is_guess; /* only the contents of its memory suggest that it has an owner */
	uint64_t weight;
};

/* A function with its time or weight. */
struct blame_part {
	uint32_t label;
	uint64_t amount;
};

/* A thread that had a lock while others waited. */
struct blame_owner {
	uint32_t thread;  /* a row of profile.threads */
	uint64_t weight;  /* of those waits */
	uint64_t seen_ns; /* the part of that time that its own samples cover */
	uint32_t id;	  /* for blame_owner_functions() */
};

/* ERR_NOT_FOUND if the recording is too old to have waits. */
int blame_require(const struct profile *profile, struct err *err);

/* The expansion is borrowed. `of_locks`: blame locks; else descriptors. */
struct blame *blame_new(const struct expansion *expansion, bool of_locks);
void blame_free(struct blame *blame); /* may be NULL */

/* Add an observation of time, and return the number of the object it blames, from 0 on. */
uint32_t blame_add(struct blame *blame, const struct observation *observation);
/* Look up the activity of the owners. Call this once, after the last blame_add(). */
void blame_finish(struct blame *blame);

const struct expansion *blame_expansion(const struct blame *blame);
const struct blame_object *blame_object(const struct blame *blame, uint32_t number);
/* "queue_lock", "0x55d0c0a0 [heap]", "end of thread 77 worker", "/path (fd 7)". Raw text. */
void blame_append_wait(struct buf *out, const struct expansion *expansion,
		       const struct profile_wait *row);
/* Append the name of an object, or "[no lock]" and the like. */
void blame_append_name(struct buf *out, const struct blame *blame, uint32_t number);
/* The process of the object; NULL if it is no lock or descriptor. Borrowed from the profile. */
const struct profile_process *blame_process(const struct blame *blame, uint32_t number);
bool blame_is_lock(const struct blame *blame, uint32_t number);
/* The address of the lock, or the one descriptor; false for anything else. */
bool blame_number(const struct blame *blame, uint32_t number, uint64_t *value);
/* The object of the descriptor, or of a group of them; NULL: not known. Borrowed. */
const char *blame_descriptor(const struct blame *blame, uint32_t number);
size_t blame_nr_threads(const struct blame *blame, uint32_t number);
/* The function outside the C library with most of the waiting; false: none. */
bool blame_waiting_in(const struct blame *blame, uint32_t number, struct blame_part *part);

/* The owner of a lock with that rank, 0 being the one that others waited for most; false: none. */
bool blame_owner(const struct blame *blame, uint32_t number, size_t rank,
		 struct blame_owner *owner);
/* The owner's activity meanwhile, likewise, in ns. */
bool blame_owner_in(const struct blame *blame, const struct blame_owner *owner, size_t rank,
		    struct blame_part *part);
/*
 * blame_owner_leaf(): the same for the innermost function, in the C library or not.
 * blame_owner_wait(): the row of profile.waits in which the owner spent most of that time; false:
 * it seldom waited.
 */
bool blame_owner_leaf(const struct blame *blame, const struct blame_owner *owner,
		      struct blame_part *part);
bool blame_owner_wait(const struct blame *blame, const struct blame_owner *owner, uint32_t *wait);

#endif
