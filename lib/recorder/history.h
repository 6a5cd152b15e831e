/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_RECORDER_HISTORY_H
#define PROFC_RECORDER_HISTORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct profile;

/*
 * The last samples and counts of a recording that has no file, in generations: a twelfth of the
 * time to keep each, the oldest of which goes. The collector's thread adds to it, others read it.
 */
struct history;

#define HISTORY_GENERATIONS 12

/* Keep at least keep_ns of time, but no more than max_bytes of them. */
struct history *history_new(uint64_t keep_ns, uint64_t max_bytes);
void history_free(struct history *history);

/* collector_options.look: take the samples that are to be written. `context` is the history. */
void history_look(void *context, const struct profile *profile);

/* Sums of all samples so far, and the processes that are alive. */
struct history_state {
	uint64_t time_ns; /* up to then, on the recording's clock */
	uint64_t cpu_ns, runq_ns;
	pid_t *pids; /* of different processes; history_state_release() frees them */
	size_t nr_pids;
};

void history_read(struct history *history, struct history_state *state);
void history_state_release(struct history_state *state);

/* The time of an excerpt, on the recording's clock. */
struct history_span {
	uint64_t from_ns, to_ns;
	uint64_t to_realtime_ns; /* CLOCK_REALTIME at its end */
};

/*
 * An excerpt from the generation on that has from_ns, or from the oldest one; `profile` is the
 * recording's, which nothing changes meanwhile. The caller owns the result.
 */
struct profile *history_excerpt(struct history *history, const struct profile *profile,
				const struct history_span *span);

#endif
