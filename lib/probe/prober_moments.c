// SPDX-License-Identifier: GPL-2.0-or-later
/* The exact totals of a moment that the user has named. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "probe/prober_priv.h"
#include "probe/prober_publish_priv.h"
#include "profile/heap_discard.h"
#include "profile/profile.h"

struct taken_moment {
	pid_t pid;
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	struct profile_heap_moment moment;
};

/* For a process that has ended these are the last totals, unless they were published already. */
static bool take(struct prober *prober, struct probed_process *process, uint64_t now_ns,
		 struct taken_moment *taken)
{
	*taken = (struct taken_moment){.pid = process->pid,
				       .at_ns = process->is_gone ? process->gone_ns : now_ns,
				       .moment = {.process = process->serial}};
	if (process->serial == UINT32_MAX || process->moments.is_last_told ||
	    !prober_add_totals(prober, process, &taken->moment))
		return false;
	process->moments.is_last_told = process->is_gone;
	process->moments.again_ns = prober_next_moment_ns(now_ns);
	return true;
}

static size_t take_all(struct prober *prober, uint64_t now_ns, struct taken_moment **taken)
{
	size_t nr = 0;

	pthread_mutex_lock(&prober->lock);
	*taken = xcalloc(prober->nr_open + 1, sizeof(**taken));
	for (size_t i = 0; i < prober->nr_open; i++)
		nr += take(prober, prober->open[i], now_ns, &(*taken)[nr]);
	pthread_mutex_unlock(&prober->lock);
	return nr;
}

static void add(const struct taken_moment *taken, struct profile *profile, uint64_t start_ns)
{
	const struct profile_heap *heap = &profile->heap;
	struct profile_heap_moment moment = taken->moment;

	if (moment.process >= profile->nr_processes)
		return;
	prober_copy_memory(heap, &moment);
	if (!profile->processes[moment.process].end_ns)
		prober_read_memory(taken->pid, &moment);
	moment.time_ns = taken->at_ns - min_u64(taken->at_ns, start_ns);
	if (heap->nr_moments)
		moment.time_ns =
			max_u64(moment.time_ns, heap->moments[heap->nr_moments - 1].time_ns);
	profile_add_heap_moment(profile, &moment);
}

/* What takes long is read without the lock. */
void prober_add_moments(struct prober *prober, struct profile *profile, uint64_t now_ns,
			bool discards, uint64_t start_ns)
{
	struct taken_moment *taken;
	size_t nr = take_all(prober, now_ns, &taken);

	for (size_t i = 0; i < nr; i++)
		add(&taken[i], profile, start_ns);
	if (discards)
		heap_discard_note(profile, now_ns - min_u64(now_ns, start_ns));
	free(taken);
}
