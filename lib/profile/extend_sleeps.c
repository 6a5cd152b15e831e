// SPDX-License-Identifier: GPL-2.0-or-later
/* Extends the last sleep of each thread to the present, for live views. */
#include "profile/extend_sleeps.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"

/* By thread: the number of its last sample, the first being 1; 0: it has none. */
static size_t *find_last(const struct profile *profile)
{
	size_t *last = xcalloc(profile->nr_threads, sizeof(*last));

	for (size_t i = 0; i < profile->nr_samples; i++)
		last[profile->samples[i].thread.v] = i + 1;
	return last;
}

void profile_extend_sleeps(struct profile *profile, uint64_t since_ns, uint64_t now_ns)
{
	cleanup_free size_t *last = find_last(profile);

	for (size_t i = 0; i < profile->nr_threads; i++) {
		struct sample sample;

		if (!last[i] || profile->threads[i].end_ns)
			continue;
		sample = profile->samples[last[i] - 1];
		if (sample.kind != SAMPLE_BLOCKED || sample.time_ns < since_ns ||
		    sample.time_ns >= now_ns)
			continue;
		sample.cpu_ns = sample.runq_ns = 0;
		sample.blocked_ns = now_ns - sample.time_ns;
		sample.time_ns = now_ns;
		sample.nr = 0;
		profile_add_sample(profile, &sample);
	}
}
