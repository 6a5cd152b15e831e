/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_SLOW_CALLS_H
#define PROFC_PROFILE_SLOW_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/ids.h"

struct err;
struct profile;
struct profile_span;

/* The name of the function that is timed; "": not known. */
const char *profile_span_name(const struct profile *profile, const struct profile_span *span);

/* When a slow call was, in the time of the recording. */
struct slow_interval {
	uint64_t from_ns, to_ns;
};

/* The calls of a function that were slow, of all its processes. */
struct slow_calls {
	char *function;		     /* owned */
	uint64_t least_ns;	     /* calls that take as long are slow */
	double percent;		     /* of all calls, as the user asked; 0: for a time */
	uint64_t nr_all, all_ns;     /* calls that have ended, and how long they took */
	uint64_t nr_slow;	     /* of these: by ranges of lengths, so about as many */
	uint64_t nr_known, known_ns; /* slow calls in `at` */
	struct slow_interval *at;    /* owned: by thread, then by time, and none overlap */
	size_t *first_of_thread;     /* owned: one more than threads */
};

/*
 * Find them, by a text that span_limit_parse() takes. Without a limit it is p99; the function may
 * be missing where one alone was timed. ERR_INVALID: the text is wrong. ERR_NOT_FOUND: the profile
 * has no slow calls of it.
 */
int slow_calls_new(const struct profile *profile, const char *text, struct slow_calls **slow,
		   struct err *err);
void slow_calls_free(struct slow_calls *slow);

#define SLOW_CALL_NONE SIZE_MAX

/* The slow call, an index of slow->at, in which a thread is at that time; or SLOW_CALL_NONE. */
size_t slow_calls_find(const struct slow_calls *slow, struct thread_id thread, uint64_t time_ns);

#endif
