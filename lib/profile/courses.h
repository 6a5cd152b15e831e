/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When each thread ran, waited for a CPU or slept, as far as its samples say. */
#ifndef PROFC_PROFILE_COURSES_H
#define PROFC_PROFILE_COURSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* A time that a thread spent in one state, with the sample that says where it was. */
struct stretch {
	uint64_t begin_ns, end_ns; /* of the recording's clock; begin < end */
	uint32_t sample;	   /* of profile.samples */
	/* The part of the time on a CPU; the rest it waited for one. 0: it slept. */
	float on_cpu;
	/*
	 * How much of the gap between two samples that the stretch is of may have passed in another
	 * order: the smaller of the shares that it slept and did not.
	 */
	float unsure;
};

/*
 * The courses of all threads. A sample says in which state its thread was at that moment, and by
 * what its clocks had advanced since the sample before: how long it ran, waited for a CPU and slept
 * in between is known, and in which order is not. The fewest changes are assumed that the states at
 * both ends allow: after a sample that ran and before one that sleeps, it ran first; between two
 * that ran, it slept in the middle. CPU time that samples of sleepers leave to the next one that
 * ran goes back to where they left it. The place is that of the nearest sample in the same state.
 */
struct courses {
	struct stretch *rows; /* owned; thread by thread, in time order */
	size_t nr, cap;
	size_t *firsts; /* by thread, its first row; one more, for the end; owned */
	/* CPU time without a known moment: of threads and processes that no tick has met. */
	uint64_t unplaced_ns;
};

/* The profile was made ready by profile_prepare(). */
struct courses *courses_new(const struct profile *profile);
void courses_free(struct courses *courses); /* may be NULL */

#endif
