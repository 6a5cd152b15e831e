// SPDX-License-Identifier: GPL-2.0-or-later
#include "recorder/history.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/excerpt.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "profile/schema.h"
#include "recorder/kept_counts.h"
#include "recorder/kept_spans.h"

/* The samples of a part of the time. The arrays are owned. */
struct generation {
	uint64_t from_ns;
	struct sample *samples;
	size_t nr_samples, cap_samples;
	struct profile_advance *advances;
	size_t nr_advances, cap_advances;
	struct kept_counts counts;
	struct kept_spans spans;
};

/* A part of former profiles. */
struct former {
	struct profile *profile; /* owned; NULL: there was none */
	uint64_t from_ns;	 /* its time 0 on the recording's clock */
};

struct history {
	uint64_t span_ns, max_bytes; /* of one generation; of all */
	uint64_t keep_ns;
	/* Also read without the lock, which an excerpt has for long. */
	_Atomic uint64_t base_ns;	 /* time 0 of the profile on the recording's clock */
	_Atomic uint64_t nr_table_bytes; /* of the profile */
	uint64_t now_ns; /* of the latest sample, on the profile's clock, as are generations */
	struct former former;
	pthread_mutex_t lock;
	struct generation *generations; /* owned; the oldest one first, at least one */
	size_t nr, cap;
	struct history_state state;
	size_t cap_pids; /* of its array */
	struct last_counts last_counts;
	uint64_t spans_ns; /* of the last look at timed calls */
	struct longest_calls longest;
};

static size_t bytes_of(const struct generation *generation)
{
	return generation->nr_samples * sizeof(*generation->samples) +
	       generation->nr_advances * sizeof(*generation->advances) +
	       kept_counts_bytes(&generation->counts) + kept_spans_bytes(&generation->spans);
}

static void generation_release(struct generation *generation)
{
	free(generation->samples);
	free(generation->advances);
	kept_counts_release(&generation->counts);
	kept_spans_release(&generation->spans);
}

static void begin_generation(struct history *history, uint64_t from_ns)
{
	ARRAY_GROW(history->generations, history->nr, history->cap);
	history->generations[history->nr++] = (struct generation){.from_ns = from_ns};
}

struct history *history_new(uint64_t keep_ns, uint64_t max_bytes)
{
	struct history *history = xcalloc(1, sizeof(*history));

	history->keep_ns = keep_ns;
	history->span_ns = max_u64(keep_ns / HISTORY_GENERATIONS, 1);
	history->max_bytes = max_bytes;
	pthread_mutex_init(&history->lock, NULL);
	begin_generation(history, 0);
	return history;
}

void history_free(struct history *history)
{
	if (!history)
		return;
	for (size_t i = 0; i < history->nr; i++)
		generation_release(&history->generations[i]);
	free(history->generations);
	last_counts_release(&history->last_counts);
	longest_calls_release(&history->longest);
	profile_free(history->former.profile);
	history_state_release(&history->state);
	pthread_mutex_destroy(&history->lock);
	free(history);
}

static void drop_oldest(struct history *history)
{
	generation_release(&history->generations[0]);
	memmove(&history->generations[0], &history->generations[1],
		--history->nr * sizeof(*history->generations));
}

/* The oldest one is needed while the one after it does not reach back far enough. */
static void drop_old(struct history *history, size_t nr_more_bytes)
{
	uint64_t nr_bytes = nr_more_bytes;

	while (history->nr > 1 &&
	       history->generations[1].from_ns + history->keep_ns < history->now_ns)
		drop_oldest(history);
	for (size_t i = 0; i < history->nr; i++)
		nr_bytes += bytes_of(&history->generations[i]);
	while (history->nr > 1 && nr_bytes > history->max_bytes) {
		nr_bytes -= bytes_of(&history->generations[0]);
		drop_oldest(history);
	}
}

static void add_rows(struct history *history, const struct profile *profile)
{
	struct generation *last = &history->generations[history->nr - 1];

	for (size_t i = 0; i < profile->nr_samples; i++) {
		ARRAY_GROW(last->samples, last->nr_samples, last->cap_samples);
		last->samples[last->nr_samples++] = profile->samples[i];
		history->state.cpu_ns += profile->samples[i].cpu_ns;
		history->state.runq_ns += profile->samples[i].runq_ns;
	}
	for (size_t i = 0; i < profile->advances.nr; i++) {
		ARRAY_GROW(last->advances, last->nr_advances, last->cap_advances);
		last->advances[last->nr_advances++] = profile->advances.rows[i];
	}
	last_counts_look(&history->last_counts, profile, &last->counts);
	kept_spans_look(&last->spans, &profile->spans, history->spans_ns);
	history->spans_ns = profile->spans.told_ns;
	longest_calls_look(&history->longest, &profile->spans);
}

/* An exec gives a process another row. */
static void note_processes(struct history *history, const struct profile *profile)
{
	struct history_state *state = &history->state;

	state->nr_pids = 0;
	for (size_t i = 0; i < profile->nr_processes; i++) {
		const struct profile_process *row = &profile->processes[i];

		if (row->end_ns || row->pid <= 0)
			continue;
		ARRAY_GROW(state->pids, state->nr_pids, history->cap_pids);
		state->pids[state->nr_pids++] = row->pid;
	}
}

/* Its part from then on. What it counted is the whole recording's. */
static struct profile *part_of_former(const struct profile *profile, uint64_t from_ns)
{
	const struct excerpt_rows rows = {profile->samples, profile->nr_samples,
					  profile->advances.rows, profile->advances.nr};
	const struct excerpt what = {.from_ns = min_u64(from_ns, profile->meta.duration_ns),
				     .to_ns = profile->meta.duration_ns,
				     .parts = &rows,
				     .nr_parts = from_ns < profile->meta.duration_ns};

	return profile_excerpt(profile, &what);
}

static void set_former(struct history *history, struct profile *profile, uint64_t from_ns)
{
	profile_free(history->former.profile);
	history->former = (struct former){profile, from_ns};
}

/* Its counters remain, in tables that are small. */
static void drop_former(struct history *history)
{
	const struct profile *profile = history->former.profile;

	if (profile && profile->nr_processes && history->now_ns > history->keep_ns)
		set_former(history, part_of_former(profile, UINT64_MAX), history->base_ns);
}

void history_look(void *context, const struct profile *profile)
{
	struct history *history = context;
	uint64_t now_ns = history->now_ns;
	size_t nr_bytes = profile->nr_samples * sizeof(struct sample) +
			  profile->advances.nr * sizeof(struct profile_advance) +
			  last_counts_bytes(&history->last_counts, profile) +
			  kept_spans_bytes_of(&profile->spans);
	const struct generation *last;

	for (size_t i = 0; i < profile->nr_samples; i++)
		now_ns = max_u64(now_ns, profile->samples[i].time_ns);
	pthread_mutex_lock(&history->lock);
	last = &history->generations[history->nr - 1];
	if (now_ns - last->from_ns > history->span_ns ||
	    bytes_of(last) > history->max_bytes / HISTORY_GENERATIONS)
		begin_generation(history, history->now_ns);
	history->now_ns = now_ns;
	history->state.time_ns = history->base_ns + now_ns;
	history->nr_table_bytes = schema_nr_bytes(profile);
	drop_old(history, nr_bytes);
	add_rows(history, profile);
	note_processes(history, profile);
	drop_former(history);
	pthread_mutex_unlock(&history->lock);
}

void history_read(struct history *history, struct history_state *state)
{
	pthread_mutex_lock(&history->lock);
	*state = history->state;
	state->pids =
		state->nr_pids ? xmemdup(state->pids, state->nr_pids * sizeof(*state->pids)) : NULL;
	pthread_mutex_unlock(&history->lock);
}

void history_state_release(struct history_state *state)
{
	free(state->pids);
	*state = (struct history_state){0};
}

bool history_take_longest(struct history *history, uint32_t number, struct long_call *call)
{
	bool is_found;

	pthread_mutex_lock(&history->lock);
	is_found = longest_calls_take(&history->longest, number, call);
	pthread_mutex_unlock(&history->lock);
	call->end_ns += is_found ? history->base_ns : 0;
	return is_found;
}

/* Samples may be rarer than looks at counts, so any generation may have some that are needed. */
static void count_since(const struct history *history, const struct profile *profile,
			uint64_t from_ns, struct counts_since *since)
{
	counts_since_begin(since, from_ns, profile->probes.nr_counts);
	for (size_t i = 0; i < history->nr; i++)
		counts_since_add(since, &history->generations[i].counts);
}

static void spans_since(const struct history *history, uint64_t from_ns, struct spans_since *since)
{
	spans_since_begin(since, from_ns);
	for (size_t i = 0; i < history->nr; i++)
		spans_since_add(since, &history->generations[i].spans);
}

/* From the profile alone; the span is on the recording's clock, also in the result. */
static struct profile *excerpt_of_latter(const struct history *history,
					 const struct profile *profile, struct history_span *span)
{
	uint64_t base_ns = history->base_ns;
	uint64_t from_ns = span->from_ns - min_u64(base_ns, span->from_ns);
	struct excerpt what = {.to_ns = span->to_ns - min_u64(base_ns, span->to_ns)};
	struct excerpt_rows *parts = xcalloc(history->nr, sizeof(*parts));
	struct counts_since since;
	struct spans_since timed;
	struct profile *excerpt;
	size_t first = 0;

	while (first + 1 < history->nr && history->generations[first + 1].from_ns < from_ns)
		first++;
	for (size_t i = first; i < history->nr; i++) {
		const struct generation *generation = &history->generations[i];

		parts[what.nr_parts++] =
			(struct excerpt_rows){generation->samples, generation->nr_samples,
					      generation->advances, generation->nr_advances};
	}
	what.parts = parts;
	/* A generation may have begun after the end was read, if it has little memory. */
	what.from_ns = min_u64(max_u64(history->generations[first].from_ns, from_ns), what.to_ns);
	what.start_realtime_ns = span->to_realtime_ns - (what.to_ns - what.from_ns);
	span->from_ns = base_ns + what.from_ns;
	count_since(history, profile, what.from_ns, &since);
	what.counted_from_ns = since.from_ns;
	what.calls = since.calls;
	spans_since(history, what.from_ns, &timed);
	what.spans = &timed.rows;
	what.timed_from_ns = timed.from_ns;
	excerpt = profile_excerpt(profile, &what);
	counts_since_release(&since);
	spans_since_release(&timed);
	free(parts);
	return excerpt;
}

/* The latter begins at latter_from_ns. It is freed, if the result is another one. */
static struct profile *join_former(const struct history *history, struct profile *latter,
				   uint64_t latter_from_ns, uint64_t *from_ns)
{
	const struct former *former = &history->former;
	uint64_t cut_ns = *from_ns - min_u64(former->from_ns, *from_ns);
	struct profile *part, *joined;

	*from_ns = latter_from_ns;
	if (!former->profile)
		return latter;
	part = part_of_former(former->profile, cut_ns);
	if (part->nr_processes)
		*from_ns = min_u64(former->from_ns + cut_ns, latter_from_ns);
	/* Not by the wall clock, which may have been set meanwhile. */
	part->meta.start_realtime_ns = latter->meta.start_realtime_ns - (latter_from_ns - *from_ns);
	joined = profile_join(part, latter);
	profile_free(part);
	profile_free(latter);
	return joined;
}

void history_continue(struct history *history, const struct profile *former, uint64_t elapsed_ns,
		      uint64_t most_bytes)
{
	uint64_t to_ns = history->base_ns + former->meta.duration_ns;
	uint64_t from_ns = to_ns - min_u64(history->keep_ns, to_ns);
	struct history_span span = {from_ns, to_ns, to_ns};
	struct profile *latter, *kept;

	pthread_mutex_lock(&history->lock);
	latter = excerpt_of_latter(history, former, &span);
	if (history->former.profile &&
	    schema_nr_bytes(history->former.profile) + schema_nr_bytes(latter) > most_bytes)
		from_ns = UINT64_MAX;
	kept = join_former(history, latter, span.from_ns, &from_ns);
	set_former(history, kept, from_ns);
	history->base_ns += max_u64(elapsed_ns, former->meta.duration_ns);
	history->now_ns = 0;
	history->nr_table_bytes = 0;
	while (history->nr)
		generation_release(&history->generations[--history->nr]);
	last_counts_release(&history->last_counts);
	longest_calls_release(&history->longest);
	history->spans_ns = 0;
	begin_generation(history, 0);
	pthread_mutex_unlock(&history->lock);
}

uint64_t history_base_ns(const struct history *history)
{
	return atomic_load(&history->base_ns);
}

uint64_t history_table_bytes(const struct history *history)
{
	return atomic_load(&history->nr_table_bytes);
}

struct profile *history_excerpt(struct history *history, const struct profile *profile,
				const struct history_span *span)
{
	struct history_span latter_span = *span;
	uint64_t from_ns = span->from_ns;
	struct profile *excerpt;

	pthread_mutex_lock(&history->lock);
	excerpt = excerpt_of_latter(history, profile, &latter_span);
	excerpt = join_former(history, excerpt, latter_span.from_ns, &from_ns);
	pthread_mutex_unlock(&history->lock);
	return excerpt;
}
