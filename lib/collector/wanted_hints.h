/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_WANTED_HINTS_H
#define PROFC_COLLECTOR_WANTED_HINTS_H

#include <stdbool.h>

struct context_place;
struct process_hints;
struct thread_hints;
struct wait_lock;
struct wanted_memory;
struct wanted_more;

/*
 * How to find the memory that the first snapshot of each thread of a process should have. The
 * sampler makes them for each program that a process runs; the hints of its threads share them.
 */

/* `former`: of the process that it was forked from, whose memory it has; or NULL. */
struct process_hints *process_hints_new(const struct process_hints *former);
/* Frees them once all who share them have called this. NULL is accepted. */
void process_hints_free(struct process_hints *hints);
/* The collector's. Only the first call has an effect. */
void process_hints_set(struct process_hints *hints, const struct wanted_more *more);

/*
 * The collector's: how to find the contexts of its threads, from now on. It may be set again, as
 * libraries come and go; after many times it stays.
 */
void process_hints_set_context(struct process_hints *hints, const struct context_place *place);

/*
 * The collector's: the lock of the interpreter in the process. Only the first call has an effect.
 */
void process_hints_set_lock(struct process_hints *hints, const struct wait_lock *lock);
/* Any thread: false if it is not known. */
bool process_hints_get_lock(const struct process_hints *hints, struct wait_lock *lock);

/* For a thread of such a process; NULL: it is no thread that could be sampled. */
struct thread_hints *thread_hints_new(struct process_hints *process);
/* Free what belongs to the hints, and them. NULL is accepted. */
void thread_hints_free(struct thread_hints *hints);

/*
 * The collector's, before each wanted_hints_set(): add what the last walks of the thread wanted. It
 * goes from one function to another, and comes back.
 */
void wanted_hints_recall(struct thread_hints *hints, struct wanted_memory *wanted);
/*
 * The collector's: which memory beside the stacks the next snapshot of a thread should have, by
 * address, and how to find more. Of the latter only the subject may differ from call to call.
 */
void wanted_hints_set(struct thread_hints *hints, const struct wanted_memory *wanted,
		      const struct wanted_more *more);
/*
 * Any thread: false if nothing was ever wanted, nor is anything known of its process. While it is
 * being set, some ranges may be old ones, or have the sizes of others: they cost a copy, as all
 * that is copied is checked.
 */
bool wanted_hints_get(const struct thread_hints *hints, struct wanted_memory *wanted,
		      struct wanted_more *more);
#endif
