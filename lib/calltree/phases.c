// SPDX-License-Identifier: GPL-2.0-or-later
/* Divides the runs of a profile by their marks. */
#include "calltree/phases.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/profile.h"
#include "profile/timelines.h"

static int by_time(const void *left, const void *right)
{
	const struct phase *a = left;
	const struct phase *b = right;

	if (a->from_ns != b->from_ns)
		return a->from_ns > b->from_ns ? 1 : -1;
	return (a->to_ns > b->to_ns) - (a->to_ns < b->to_ns);
}

/* Add the phases of a run after those of the runs before. */
static void add_run(struct phases *phases, const struct profile *profile, uint32_t run)
{
	const struct timelines *timelines = phases->timelines;
	struct phase *first = &phases->phases[phases->nr];
	size_t nr = 1;

	first[0] = (struct phase){.from_ns = timelines->rows[run].begin_ns, .is_first = true};
	for (size_t i = timelines->first_marks[run]; i < timelines->first_marks[run + 1]; i++)
		first[nr++] = (struct phase){.from_ns = profile->marks[i].time_ns,
					     .to_ns = i, /* ties keep their order */
					     .text = profile->marks[i].text};
	/* Recordings of one run that were joined have their marks one after the other. */
	qsort(first + 1, nr - 1, sizeof(*first), by_time);
	for (size_t i = 0; i < nr; i++) {
		first[i].to_ns = i + 1 < nr ? first[i + 1].from_ns : UINT64_MAX;
		first[i].end_ns = min_u64(first[i].to_ns, timelines->rows[run].end_ns);
	}
	phases->firsts[run] = phases->nr;
	phases->nr += nr;
}

struct phases *phases_new(const struct profile *profile)
{
	struct phases *phases = xcalloc(1, sizeof(*phases));

	phases->timelines = timelines_new(profile);
	phases->firsts = xcalloc(phases->timelines->nr + 1, sizeof(*phases->firsts));
	phases->phases =
		xcalloc(profile->nr_marks + phases->timelines->nr, sizeof(*phases->phases));
	for (uint32_t run = 0; run < phases->timelines->nr; run++)
		add_run(phases, profile, run);
	phases->firsts[phases->timelines->nr] = phases->nr;
	return phases;
}

void phases_free(struct phases *phases)
{
	if (!phases)
		return;
	timelines_free(phases->timelines);
	free(phases->firsts);
	free(phases->phases);
	free(phases);
}

size_t phases_find(const struct phases *phases, uint32_t process, uint64_t time_ns)
{
	uint32_t run = phases->timelines->of_process[process];
	size_t low = phases->firsts[run], high = phases->firsts[run + 1] - 1;

	/* Find the last phase that begins before the moment, or the first. */
	while (low < high) {
		size_t middle = high - (high - low) / 2;

		if (phases->phases[middle].from_ns < time_ns)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}
