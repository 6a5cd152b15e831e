/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_BLAME_STACKS_H
#define PROFC_CALLTREE_BLAME_STACKS_H

#include <stddef.h>
#include <stdint.h>

struct expansion;
struct profile;
struct sample;

/* The kind of a lock, by the function of the C library in which threads wait for it. */
enum lock_kind {
	LOCK_FUTEX, /* none of those: other libraries and runtimes have their own locks */
	LOCK_MUTEX,
	LOCK_CONDITION,
	LOCK_SEMAPHORE,
	LOCK_RWLOCK,
	LOCK_BARRIER,
	LOCK_ONCE,
	LOCK_JOIN,
	LOCK_GIL, /* CPython's, which one of its threads has at a time: a condition of its own */
	LOCK_KIND_COUNT,
};

const char *lock_kind_name(enum lock_kind kind);

/* Facts about waits that stacks of a profile imply: found once for each stack. */
struct blame_stacks;

struct blame_stack {
	enum lock_kind kind;
	uint32_t label;	 /* of the wait function; the leaf's, where there is none */
	uint32_t script; /* the innermost function of a script, or the same as `label` */
};

struct blame_stacks *blame_stacks_new(const struct expansion *expansion); /* borrowed */
void blame_stacks_free(struct blame_stacks *stacks);			  /* may be NULL */
/* Borrowed until the next call. */
const struct blame_stack *blame_stacks_get(struct blame_stacks *stacks,
					   const struct sample *sample);

/* The samples of each thread, by their numbers in the profile. */
struct thread_index {
	size_t *first; /* by thread, and one more; owned */
	size_t *at;    /* owned */
};

struct thread_samples_of {
	const size_t *at;
	size_t nr;
};

void thread_index_init(struct thread_index *index, const struct profile *profile);
void thread_index_release(struct thread_index *index);
struct thread_samples_of thread_index_get(const struct thread_index *index, uint32_t thread);

#endif
