/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_RECORDER_HISTORY_H
#define PROFC_RECORDER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct long_call;
struct profile;

/*
 * The last samples, counts and timed calls of a recording that has no file, in generations: a
 * twelfth of the time to keep each, the oldest of which goes. The collector's thread adds to it,
 * others read it.
 */
struct history;

#define HISTORY_GENERATIONS 12

/* Keep at least keep_ns of time, but no more than max_bytes of them. */
struct history *history_new(uint64_t keep_ns, uint64_t max_bytes);
void history_free(struct history *history);

/*
 * collector_options.look: take the samples and timed calls that are to be written, which are
 * dropped then. `context` is the history.
 */
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
/*
 * The longest call of the functions with this profile_span.number that has ended since this was
 * last called, on the recording's clock. False: none has.
 */
bool history_take_longest(struct history *history, uint32_t number, struct long_call *call);

/*
 * A profile never forgets a process, thread, stack or name. So a recording that goes on for days
 * ends at times, and begins again in a new profile. This takes from the former one, when all of its
 * samples were looked at, what is to be kept. If that and what is kept of those before have more
 * than most_bytes, with their samples, it forgets the latter. The next profile begins elapsed_ns
 * after the former one did. On the recording's clock, which never goes back, this is
 * history_base_ns(). No other function that is given a profile may be called meanwhile.
 * Counts, timed calls and blocks of memory of the former profile are not kept: not for a recording
 * with these.
 */
void history_continue(struct history *history, const struct profile *former, uint64_t elapsed_ns,
		      uint64_t most_bytes);
/* When the profile of now began. Neither this nor the next one waits for a lock. */
uint64_t history_base_ns(const struct history *history);
/* About how much memory the profile's tables took when it was last looked at. */
uint64_t history_table_bytes(const struct history *history);

/* The time of an excerpt, on the recording's clock. */
struct history_span {
	uint64_t from_ns, to_ns;
	uint64_t to_realtime_ns; /* CLOCK_REALTIME at its end */
};

/*
 * An excerpt from the generation on that has from_ns, or from the oldest one, joined to what is
 * kept of former profiles; `profile` is the recording's, which nothing changes meanwhile. Counters
 * are sums of all profiles. The caller owns the result.
 */
struct profile *history_excerpt(struct history *history, const struct profile *profile,
				const struct history_span *span);

#endif
