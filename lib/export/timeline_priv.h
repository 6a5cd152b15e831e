/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The points of a lane as consecutive stretches of time. */
#ifndef PROFC_EXPORT_TIMELINE_PRIV_H
#define PROFC_EXPORT_TIMELINE_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "stack/stack.h"

struct extract;
struct lane;

/* A stretch of a lane with one path. */
struct run {
	struct stack_id path;
	uint64_t start_ns, duration_ns; /* duration > 0 */
};

/* Runs in time order that do not overlap. Zero-initialised is empty; may be reused. */
struct timeline {
	struct run *runs; /* owned */
	size_t nr_runs, cap_runs;
};

/*
 * Replace the content by a lane laid out on the recording's clock. A point is as long
 * as its weight (as the wall time it covers, where weights are counts) and ends when
 * the sample was taken. CPU time carried forward can be more than the time since the
 * point before: the lane then runs late until the next gap, for no weight is ever cut.
 * Neighbours without a gap and with equal paths are one run.
 */
void timeline_of_lane(struct timeline *timeline, const struct extract *extract,
		      const struct lane *lane);
void timeline_release(struct timeline *timeline);

#endif
