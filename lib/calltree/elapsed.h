/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the elapsed time of a recording went: each instant once, however many threads there are. */
#ifndef PROFC_CALLTREE_ELAPSED_H
#define PROFC_CALLTREE_ELAPSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct observation;
struct profile;
struct timeline;
struct timelines;

enum elapsed_state {
	ELAPSED_RUNNING,
	ELAPSED_RUNNABLE, /* threads only waited for a CPU */
	ELAPSED_WAITING,  /* all threads slept */
	ELAPSED_UNKNOWN,  /* no thread was there, or none was recorded */
};

/* Elapsed time that goes to a sample: a part of the time before end_ns. */
struct elapsed_part {
	uint64_t end_ns;
	uint64_t span_ns, ns; /* it is so much of the time of that length */
	uint32_t sample;      /* of profile.samples */
	float slack_ns; /* it may be so much more or less, as the order of threads is unknown */
	uint16_t parallelism; /* how many threads ran: 0 unless ELAPSED_RUNNING */
	uint8_t state;	      /* enum elapsed_state */
};

/*
 * Each instant is divided equally among the threads that run at it (profile/courses.h says when
 * they do). Where threads that wait for a CPU alternate on it, each has an equal part of the
 * instant, as much as it has of the CPU. Where none has a CPU, the instant belongs to the threads
 * that wait for one; and where all sleep, to the sleep of the thread that runs next, or that ran
 * last if none runs next. The parts add up to selection_elapsed_ns() to the nanosecond.
 */
struct elapsed {
	struct elapsed_part *parts; /* owned, as all here; in time order within each thread */
	size_t nr, cap;
	uint64_t *sample_ns; /* by sample: the sum of its parts */
	/* CPU time of threads and processes that were not met: it is in no part. */
	uint64_t unplaced_ns;
};

/*
 * For all threads of a profile, in a range of time for each of its runs: `ranges` by timeline. The
 * profile was prepared. selection_elapsed() has that of a selection.
 */
struct elapsed *elapsed_new(const struct profile *profile, const struct timelines *timelines,
			    const struct timeline *ranges);
void elapsed_free(struct elapsed *elapsed); /* may be NULL */

/* A part as an observation: a sample with the times of the part. */
void elapsed_observe(const struct elapsed *elapsed, const struct profile *profile, size_t part,
		     struct observation *observation);

#endif
