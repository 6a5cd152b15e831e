/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_WANTED_HINTS_H
#define PROFC_COLLECTOR_WANTED_HINTS_H

#include <stdbool.h>

struct thread_hints;
struct wanted_memory;
struct wanted_more;

/*
 * The collector's: which memory beside the stacks the next snapshot of a thread should have, and
 * how to find more. Of the latter only the subject may differ from call to call.
 */
void wanted_hints_set(struct thread_hints *hints, const struct wanted_memory *wanted,
		      const struct wanted_more *more);
/*
 * Any thread: false if nothing was ever wanted. While it is being set, some ranges may be old ones,
 * or have the sizes of others: they cost a copy, as all that is copied is checked.
 */
bool wanted_hints_get(const struct thread_hints *hints, struct wanted_memory *wanted,
		      struct wanted_more *more);
/* Free what belongs to the hints, and them. NULL is accepted. */
void thread_hints_free(struct thread_hints *hints);

#endif
