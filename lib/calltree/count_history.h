/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_COUNT_HISTORY_H
#define PROFC_CALLTREE_COUNT_HISTORY_H

#include <stddef.h>
#include <stdint.h>

struct profile;

/* The count of each row of profile.probes.counts at a moment; 0 for later rows. */
struct count_moment {
	uint64_t time_ns;
	uint64_t *calls; /* owned by the history */
	size_t nr;
};

/*
 * Former counts of a live recording, from which those of its last seconds follow: a file has only
 * the final ones. Zero-initialised is empty.
 */
struct count_history {
	struct count_moment *moments; /* owned; in the order of time */
	size_t nr, cap;
};

void count_history_release(struct count_history *history);
/* Note the counts of a profile; counts older than keep_ns are forgotten. */
void count_history_note(struct count_history *history, const struct profile *profile,
			uint64_t keep_ns);
/* The first counts noted at `from_ns` or later, and before the profile's; or NULL. */
const struct count_moment *count_history_find(const struct count_history *history,
					      const struct profile *profile, uint64_t from_ns);
/* When the counts of a profile were last read. */
uint64_t count_history_time(const struct profile *profile);

#endif
