/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_SPANS_H
#define PROFC_PROFILE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "stack/stack.h"

struct profile;

/*
 * How long calls of functions took, of all threads of a process and of forked children that did not
 * execute another program. Recursion is part of the outermost call. Exact numbers beside the
 * samples, which come now and then: those of a function add up.
 */

/* A function that is timed, call by call; or two, and the time from the first to the second. */
struct profile_span {
	uint32_t process;      /* row of profile.processes */
	struct frame_id where; /* the first instruction of the function, or of the first of two */
	uint64_t from_ns;
	struct str_id pair; /* what users call the two, "FUNC:FUNC"; "": it is one */
	uint32_t number;    /* while it is recorded: as prober_options.slow_ns has it */
};

/* Its calls since the row before, up to to_ns. */
struct profile_span_sum {
	uint32_t span; /* row of profile.spans */
	uint64_t to_ns;
	uint64_t nr_begun;
	uint64_t total_ns; /* of those that have ended */
	/*
	 * If there was a longer one than ever before, or with are_taken than in the row before: its
	 * length, or 0; and its begin and thread.
	 */
	uint64_t longest_ns, longest_from_ns;
	uint32_t longest_thread; /* row of profile.threads, or UINT32_MAX: not known */
};

/* Calls that have ended, since the row before of these lengths: from least_ns to below end_ns. */
struct profile_span_length {
	uint32_t span;
	uint64_t to_ns;
	uint64_t least_ns, end_ns;
	uint64_t nr;
};

/* A call that took longer than most. */
struct profile_slow_call {
	uint32_t span;
	uint32_t thread; /* row of profile.threads, or UINT32_MAX: not known */
	uint64_t from_ns, length_ns;
};

/* The counter of a profile: slow calls that are not among these rows. */
#define SLOW_CALLS_DROPPED "slow_calls_dropped"

struct profile_spans {
	struct profile_span *rows; /* owned by the profile, as all here */
	size_t nr, cap;
	struct profile_span_sum *sums;
	size_t nr_sums, cap_sums;
	struct profile_span_length *lengths;
	size_t nr_lengths, cap_lengths;
	struct profile_slow_call *slow; /* in no order */
	size_t nr_slow, cap_slow;
	/* While it is recorded: all calls up to then are among the rows. */
	uint64_t told_ns;
	/* The sums, lengths and slow calls are taken and dropped soon after they were added. */
	bool are_taken;
};

/* These are like profile.c's functions for other tables. Returns the row's index. */
uint32_t profile_add_span(struct profile *profile, const struct profile_span *row);
void profile_add_span_sum(struct profile *profile, const struct profile_span_sum *row);
void profile_add_span_length(struct profile *profile, const struct profile_span_length *row);
void profile_add_slow_call(struct profile *profile, const struct profile_slow_call *row);
/* Forget all of these but the functions. */
void profile_drop_calls(struct profile *profile);

#endif
