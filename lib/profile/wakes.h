/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_WAKES_H
#define PROFC_PROFILE_WAKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/stack.h"

struct profile;

/*
 * A wait for a futex that another thread ended, by a call of futex(2) that was noted; or the time
 * that it was to last at most, as no such call was noted by then.
 */
struct profile_wake {
	uint32_t thread;       /* row of profile.threads, that waited */
	uint32_t waker;	       /* likewise, that ended it; the same thread: its time was up */
	uint64_t from_ns;      /* when it began, */
	uint64_t to_ns;	       /* and when the other one made the call, or the time was up */
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

/* A thread that was seen in a wait for a futex which ends by itself at some time. */
struct profile_time_out {
	uint32_t thread; /* row of profile.threads */
	uint64_t word;	 /* the address of the futex */
	uint64_t seen_ns;
	bool is_length; /* `ns` is a time from the beginning of the wait on */
	uint64_t ns;
};

/* Since samples were dropped last; no file has them. */
struct profile_time_outs {
	struct profile_time_out *rows; /* in the order of seen_ns; owned by the profile */
	size_t nr, cap;
};

void profile_add_wake(struct profile *profile, const struct profile_wake *row);
void profile_add_time_out(struct profile *profile, const struct profile_time_out *row);

#endif
