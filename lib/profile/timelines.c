// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/timelines.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"

/* Does each process and each mark belong to a run? */
static bool is_divided(const struct profile *profile)
{
	uint64_t nr_processes = 0, nr_marks = 0;

	for (size_t i = 0; i < profile->runs.nr; i++) {
		const struct profile_run *run = &profile->runs.rows[i];

		if (run->nr_processes > profile->nr_processes || run->nr_marks > profile->nr_marks)
			return false;
		nr_processes += run->nr_processes;
		nr_marks += run->nr_marks;
	}
	return profile->runs.nr && nr_processes == profile->nr_processes &&
	       nr_marks == profile->nr_marks;
}

static struct timeline timeline_of(const struct profile *profile, const struct profile_run *run)
{
	uint64_t first_ns = profile->meta.start_realtime_ns, start_ns = run->start_realtime_ns;
	uint64_t begin_ns = start_ns > first_ns ? start_ns - first_ns : 0;

	return (struct timeline){.begin_ns = begin_ns, .end_ns = begin_ns + run->duration_ns};
}

struct timelines *timelines_new(const struct profile *profile)
{
	struct timelines *timelines = xcalloc(1, sizeof(*timelines));
	bool has_runs = is_divided(profile);
	size_t process = 0, mark = 0;

	timelines->of_process = xcalloc(profile->nr_processes, sizeof(*timelines->of_process));
	timelines->nr = has_runs ? profile->runs.nr : 1;
	timelines->rows = xcalloc(timelines->nr, sizeof(*timelines->rows));
	timelines->first_marks = xcalloc(timelines->nr + 1, sizeof(*timelines->first_marks));
	timelines->first_marks[timelines->nr] = profile->nr_marks;
	timelines->rows[0].end_ns = profile->meta.duration_ns;
	for (uint32_t i = 0; has_runs && i < timelines->nr; i++) {
		const struct profile_run *run = &profile->runs.rows[i];

		timelines->rows[i] = timeline_of(profile, run);
		for (uint64_t k = 0; k < run->nr_processes; k++)
			timelines->of_process[process++] = i;
		timelines->first_marks[i] = mark;
		mark += run->nr_marks;
	}
	return timelines;
}

void timelines_free(struct timelines *timelines)
{
	if (!timelines)
		return;
	free(timelines->rows);
	free(timelines->of_process);
	free(timelines->first_marks);
	free(timelines);
}
