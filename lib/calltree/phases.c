// SPDX-License-Identifier: GPL-2.0-or-later
/* Divides a recording by its marks. */
#include "calltree/phases.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"

static int by_time(const void *left, const void *right)
{
	const struct phase *a = left;
	const struct phase *b = right;

	if (a->from_ns != b->from_ns)
		return a->from_ns > b->from_ns ? 1 : -1;
	return (a->to_ns > b->to_ns) - (a->to_ns < b->to_ns);
}

struct phases *phases_new(const struct profile *profile)
{
	struct phases *phases = xcalloc(1, sizeof(*phases));

	phases->nr = profile->nr_marks + 1;
	phases->phases = xcalloc(phases->nr, sizeof(*phases->phases));
	for (size_t i = 0; i < profile->nr_marks; i++)
		phases->phases[i + 1] = (struct phase){.from_ns = profile->marks[i].time_ns,
						       .to_ns = i, /* ties keep their order */
						       .text = profile->marks[i].text};
	/* Merged recordings have their marks one recording after the other. */
	qsort(phases->phases + 1, profile->nr_marks, sizeof(*phases->phases), by_time);
	for (size_t i = 0; i < phases->nr; i++)
		phases->phases[i].to_ns =
			i + 1 < phases->nr ? phases->phases[i + 1].from_ns : UINT64_MAX;
	return phases;
}

void phases_free(struct phases *phases)
{
	if (!phases)
		return;
	free(phases->phases);
	free(phases);
}

size_t phases_find(const struct phases *phases, uint64_t time_ns)
{
	size_t low = 0, high = phases->nr - 1;

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
