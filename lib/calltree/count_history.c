// SPDX-License-Identifier: GPL-2.0-or-later
/* Former counts of a live recording. */
#include "calltree/count_history.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/profile.h"

void count_history_release(struct count_history *history)
{
	for (size_t i = 0; i < history->nr; i++)
		free(history->moments[i].calls);
	free(history->moments);
	*history = (struct count_history){0};
}

uint64_t count_history_time(const struct profile *profile)
{
	uint64_t time_ns = 0;

	for (size_t i = 0; i < profile->probes.nr_counts; i++)
		time_ns = max_u64(time_ns, profile->probes.counts[i].to_ns);
	return min_u64(time_ns, profile->meta.duration_ns);
}

static void forget(struct count_history *history, uint64_t before_ns)
{
	size_t nr = 0;

	while (nr < history->nr && history->moments[nr].time_ns < before_ns)
		free(history->moments[nr++].calls);
	history->nr -= nr;
	if (nr > 0)
		memmove(history->moments, history->moments + nr,
			history->nr * sizeof(*history->moments));
}

void count_history_note(struct count_history *history, const struct profile *profile,
			uint64_t keep_ns)
{
	size_t nr = profile->probes.nr_counts;
	struct count_moment moment = {.time_ns = count_history_time(profile), .nr = nr};

	if (nr == 0)
		return;
	forget(history, moment.time_ns > keep_ns ? moment.time_ns - keep_ns : 0);
	moment.calls = xcalloc(nr, sizeof(*moment.calls));
	for (size_t i = 0; i < nr; i++)
		moment.calls[i] = profile->probes.counts[i].calls;
	ARRAY_GROW(history->moments, history->nr, history->cap);
	history->moments[history->nr++] = moment;
}

const struct count_moment *count_history_find(const struct count_history *history,
					      const struct profile *profile, uint64_t from_ns)
{
	uint64_t now_ns = count_history_time(profile);

	for (size_t i = 0; i < history->nr; i++)
		if (history->moments[i].time_ns >= from_ns && history->moments[i].time_ns < now_ns)
			return &history->moments[i];
	return NULL;
}
