/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_WAKES_H
#define PROFC_PROFILE_WAKES_H

#include <stddef.h>
#include <stdint.h>

#include "stack/stack.h"

struct profile;

/* A wait for a futex that another thread ended, by a call of futex(2) that was noted. */
struct profile_wake {
	uint32_t thread;       /* row of profile.threads, that waited */
	uint32_t waker;	       /* likewise, that ended it */
	uint64_t from_ns;      /* when it began, */
	uint64_t to_ns;	       /* and when the other one made the call */
	struct frame_id where; /* to which that call's function returns, or UINT32_MAX: not known */
};

/* The counter of a profile: notes that were lost. */
#define WAKES_DROPPED "wakes_dropped"

/* So the names of refusals begin that are of calls which were to be noted. */
#define WAKES_REFUSED "[a call of futex"

struct profile_wakes {
	struct profile_wake *rows; /* in no order; owned by the profile */
	size_t nr, cap;
};

void profile_add_wake(struct profile *profile, const struct profile_wake *row);

#endif
