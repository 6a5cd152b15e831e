/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A part of a recording, by time, as a profile of its own. */
#ifndef PROFC_PROFILE_EXCERPT_H
#define PROFC_PROFILE_EXCERPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct profile_advance;
struct profile_spans;
struct sample;

/* Samples and advances of some time, in time order within each thread. Borrowed. */
struct excerpt_rows {
	const struct sample *samples;
	size_t nr_samples;
	const struct profile_advance *advances;
	size_t nr_advances;
};

struct excerpt {
	uint64_t from_ns, to_ns; /* of the recording: time 0 and the end of the excerpt */
	uint64_t start_realtime_ns;
	const struct excerpt_rows *parts; /* one after the other; with the rows to keep */
	size_t nr_parts;
	/* By row of profile.probes.counts: its calls since counted_from_ns. NULL: no counts. */
	const uint64_t *calls;
	uint64_t counted_from_ns; /* from_ns or later; UINT64_MAX: none are known */
	/*
	 * Sums and lengths of timed calls, which are since timed_from_ns, from_ns or later, and
	 * slow calls; its functions are the recording's. NULL: there are none.
	 */
	const struct profile_spans *spans;
	uint64_t timed_from_ns;
	/*
	 * All rows of the parts are kept as they are, whatever time they are of: excerpts that
	 * follow each other then add up to the recording. A time before from_ns becomes that.
	 */
	bool keeps_all;
	/* Likewise, with keeps_all: rows of profile.heap before this one belong to earlier ones. */
	size_t first_allocation;
};

/*
 * The rows of the parts from from_ns on, or all of them, with all that they refer to, and the
 * processes, threads and marks of that time. Totals that the kernel keeps of a process or thread
 * since its birth are unknown in the excerpt if that was before from_ns. Counters are those of the
 * whole recording. Modules keep their files open, by descriptors of their own. Counts are those of
 * places that were counted after counted_from_ns. A slow call that began before from_ns has its
 * part from then on. Blocks of memory are those that were alive in
 * that time; those of before are marked as earlier. With keeps_all there are no exact totals, which
 * are read at other times: estimates are then those of each block by itself, and add up. Each has a
 * row of its own in the recording, which has no symbols. The caller owns the result.
 */
struct profile *profile_excerpt(const struct profile *from, const struct excerpt *what);

#endif
