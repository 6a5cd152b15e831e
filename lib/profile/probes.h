/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_PROBES_H
#define PROFC_PROFILE_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "profile/wakes.h"
#include "stack/stack.h"

struct profile;

/*
 * The counts of probes: exact numbers beside the samples. A place is counted from from_ns to to_ns,
 * by all threads of its process and by forked children that did not execute another program. Counts
 * are not divided by thread.
 */

/* The place of a probe. Numbers are part of the file format: append only. */
enum count_kind {
	COUNT_ENTRY = 0, /* at a function's first instruction: each call of it, however made */
	COUNT_CALL = 1,	 /* at a call instruction: this caller's calls of one callee */
	COUNT_KIND_COUNT,
};

/* Bits of profile_count.flags; part of the file format. */
enum count_flag {
	COUNT_FROM_START = 1, /* from the first instruction of the program on: nothing was missed */
	/* ENTRY with calls: a jump of the function is the call of another one */
	COUNT_TAIL_CALL = 2,
};

#define COUNT_FLAGS_ALL (COUNT_FROM_START | COUNT_TAIL_CALL)

/* Bound on the sum of all counted calls of a profile (man/profc-data.5, BOUNDS). */
#define COUNTED_CALLS_MAX (UINT64_C(1) << 61)

#define COUNT_NO_CALLEE ((struct frame_id){UINT32_MAX})

/* Calls, to_ns and COUNT_TAIL_CALL are updated in place while a recording runs. */
struct profile_count {
	uint32_t process; /* row of profile.processes */
	/* ENTRY: the function's first instruction. CALL: inside the call, as in samples. */
	struct frame_id where;
	struct frame_id callee; /* CALL: the callee's first instruction, or COUNT_NO_CALLEE */
	uint8_t kind;		/* enum count_kind */
	uint8_t flags;		/* of enum count_flag */
	uint64_t calls;
	uint64_t from_ns, to_ns; /* since the recording began */
};

/* A requested function or call that is not counted. */
struct profile_refusal {
	uint32_t process;	/* row of profile.processes */
	struct str_id function; /* its name, or a place in it */
	struct str_id module;	/* path, or empty */
	struct str_id reason;	/* for a user to read */
};

struct profile_probes {
	struct profile_count *counts; /* owned, as refusals */
	size_t nr_counts, cap_counts;
	struct profile_refusal *refusals;
	size_t nr_refusals, cap_refusals;
	struct profile_wakes wakes; /* of waits that they have noted */
	struct profile_time_outs time_outs;
};

/*
 * These are like profile.c's functions for other tables. Returns the row's index, for updating it.
 */
uint32_t profile_add_count(struct profile *profile, const struct profile_count *row);
void profile_add_refusal(struct profile *profile, const struct profile_refusal *row);
/* Were calls counted, or requested to be? */
bool profile_has_counts(const struct profile *profile);

#endif
