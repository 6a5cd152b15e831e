/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which child of a process ended when. */
#ifndef PROFC_CALLTREE_CHILD_ENDS_H
#define PROFC_CALLTREE_CHILD_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/strtab.h"

struct profile;

/* A parent may notice the end of its child before profc does, by at most this time. */
#define CHILD_ENDS_LATE_NS (20 * NS_PER_MS)

struct child_ends {
	const struct profile *profile; /* borrowed */
	uint32_t *first_rows; /* by process, which has a row for each program: the first of these */
	uint32_t *ended;      /* the processes that have ended, in order of their ends */
	size_t nr_ended;
	bool *has_unseen; /* by process, at its first row: no sample found some of its children */
};

void child_ends_init(struct child_ends *ends, const struct profile *profile);
void child_ends_release(struct child_ends *ends);

/*
 * The child of a process that was born before a moment, `until_ns`, and ended last from another one
 * up to then, as noticed late; or PROCESS_NONE.
 */
uint32_t child_ends_last(const struct child_ends *ends, uint32_t process, uint64_t from_ns,
			 uint64_t until_ns);

/*
 * The name that all children have whose end in a time range the parent may have waited for, as it
 * slept when that began: they were born before. False: none is known, or they have several names,
 * or there may be more of them.
 */
bool child_ends_name(const struct child_ends *ends, uint32_t process, uint64_t from_ns,
		     uint64_t to_ns, struct str_id *name);

#endif
