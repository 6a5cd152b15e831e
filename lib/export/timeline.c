// SPDX-License-Identifier: GPL-2.0-or-later
/* The points of a lane as consecutive stretches of time. */
#include "export/timeline_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "export/extract_priv.h"
#include "profile/profile.h"

static uint64_t end_of(const struct run *run)
{
	return run->start_ns + run->duration_ns;
}

static void add_run(struct timeline *timeline, const struct run *run)
{
	struct run *last = timeline->nr_runs ? &timeline->runs[timeline->nr_runs - 1] : NULL;

	if (last && last->path.v == run->path.v && end_of(last) == run->start_ns) {
		last->duration_ns += run->duration_ns;
		return;
	}
	ARRAY_GROW(timeline->runs, timeline->nr_runs, timeline->cap_runs);
	timeline->runs[timeline->nr_runs++] = *run;
}

void timeline_of_lane(struct timeline *timeline, const struct extract *extract,
		      const struct lane *lane)
{
	bool is_time = extract_is_time(extract);
	uint64_t now_ns = 0;

	timeline->nr_runs = 0;
	for (size_t i = lane->first; i < lane->first + lane->nr; i++) {
		const struct point *point = &extract->points[i];
		struct run run = {.path = point->path, .start_ns = now_ns};
		/* A gap within the rounding of times is ignored. */
		uint64_t least_gap_ns = timeline->nr_runs ? SAMPLE_TIME_GRAIN_NS : 1;

		run.duration_ns = is_time ? point->weight : point->wall_ns;
		if (!run.duration_ns)
			continue;
		if (point->end_ns >= now_ns + run.duration_ns + least_gap_ns)
			run.start_ns = point->end_ns - run.duration_ns;
		add_run(timeline, &run);
		now_ns = end_of(&run);
	}
}

void timeline_release(struct timeline *timeline)
{
	free(timeline->runs);
	*timeline = (struct timeline){0};
}
