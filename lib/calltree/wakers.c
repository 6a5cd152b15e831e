// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums up blocked time by what ended the waits. */
#include "calltree/wakers.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/observe.h"
#include "calltree/pairs.h"
#include "calltree/relatives.h"
#include "calltree/wake_rows.h"
#include "profile/profile.h"

/* The sleep of a sample ended between these, as far as samples of its thread say. */
struct sleep_end {
	uint64_t from_ns, to_ns;
	uint64_t until_ns; /* the same, less what the thread ran and waited for a CPU by then */
};

/* While rows are summed up. */
struct adding {
	struct wakers *wakers;
	struct pairs keys; /* of waits: their kind and number; the id is the row */
	struct relatives relatives;
	struct sleep_end *ends; /* by sample; owned */
	struct wake_rows noted;
	struct index_set set;
};

/* Does the sample say that the thread slept all the time since the one before? */
static bool slept_on(const struct sample *sample, uint64_t before_ns)
{
	uint64_t length_ns = sample->time_ns - min_u64(before_ns, sample->time_ns);

	return sample->kind == SAMPLE_BLOCKED &&
	       sample->blocked_ns + SAMPLE_TIME_GRAIN_NS >= length_ns;
}

/* The samples of a thread after one of them; numbers are one more than indices, 0: none. */
struct later {
	size_t next;
	bool is_seen_again; /* asleep, or at some place */
};

/*
 * From the last sample to the first. That a thread slept on is not sure of a sample that has an
 * observation, and of the last one of all.
 */
static struct sleep_end *sleep_ends_of(const struct profile *profile)
{
	struct sleep_end *ends = xcalloc(profile->nr_samples + 1, sizeof(*ends));
	cleanup_free struct later *later = xcalloc(profile->nr_samples + 1, sizeof(*later));
	cleanup_free size_t *first = xcalloc(profile->nr_threads + 1, sizeof(*first));

	for (size_t i = profile->nr_samples; i > 0; i--) {
		const struct sample *sample = &profile->samples[i - 1], *next;
		size_t after = first[sample->thread.v];
		uint64_t awake_ns;
		struct sleep_end *end = &ends[i - 1];

		first[sample->thread.v] = i;
		*end = (struct sleep_end){
			.from_ns = sample->time_ns, .to_ns = UINT64_MAX, .until_ns = UINT64_MAX};
		if (!after)
			continue;
		next = &profile->samples[after - 1];
		later[i] = (struct later){after, later[after].is_seen_again || next->nr ||
							 next->kind == SAMPLE_BLOCKED};
		end->to_ns = next->time_ns;
		awake_ns = next->recorded_cpu_ns + next->runq_ns;
		end->until_ns = next->time_ns - min_u64(awake_ns, next->time_ns);
		if (!slept_on(next, sample->time_ns))
			continue;
		if (next->nr)
			end->to_ns = end->until_ns =
				later[after].next ? profile->samples[later[after].next - 1].time_ns
						  : UINT64_MAX;
		else if (later[after].is_seen_again)
			*end = ends[after - 1];
		else
			ends[after - 1] = *end;
	}
	return ends;
}

static uint32_t wait_of(struct adding *adding, const struct observation *observation)
{
	struct wakers *wakers = adding->wakers;
	struct waker_wait row = {.waited = waited_of(&wakers->objects, observation)};
	uint32_t id = pairs_add(&adding->keys, (uint32_t)row.waited.kind, row.waited.number,
				observation->weight);

	if (id == wakers->nr_waits) {
		ARRAY_GROW(wakers->waits, wakers->nr_waits, wakers->cap_waits);
		wakers->waits[wakers->nr_waits++] = row;
	}
	return id;
}

/* Some calls wait for one thing only, so that they tell without an object. */
static enum waker_how how_of_call(const struct profile *profile, const struct sample *sample)
{
	static const char *const sleeps[] = {"clock_nanosleep", "nanosleep", NULL};
	static const char *const signals[] = {"pause", "rt_sigsuspend", NULL};
	static const char *const births[] = {"vfork", NULL};

	if (sample->kind != SAMPLE_BLOCKED)
		return WAKER_UNKNOWN;
	return waited_in_call(profile, sample, sleeps)	  ? WAKER_TIME
	       : waited_in_call(profile, sample, signals) ? WAKER_SIGNAL
	       : waited_for_child(profile, sample) || waited_in_call(profile, sample, births)
		       ? WAKER_CHILD
		       : WAKER_UNKNOWN;
}

/* Likewise some descriptors. */
static enum waker_how how_of_file(const struct profile *profile, const struct sample *sample,
				  const struct profile_wait *row)
{
	static const char *const reads[] = {"read", NULL};
	const char *name = profile_str(profile, row->name);

	if (row->kind != WAIT_FILE)
		return WAKER_UNKNOWN;
	if (row->peer.v != STR_EMPTY.v)
		return WAKER_PEER;
	/* The timeout of a call that waits for a timer is the clock's as well. */
	if (strcmp(name, "anon_inode:[timerfd]") == 0)
		return WAKER_TIME;
	if (strcmp(name, "anon_inode:[signalfd]") == 0 && waited_in_call(profile, sample, reads))
		return WAKER_SIGNAL;
	return WAKER_UNKNOWN;
}

/* The name of the child whose end the wait was for. */
static struct str_id child_of(const struct adding *adding, size_t index)
{
	const struct profile *profile = adding->wakers->selection->expansion->profile;
	uint32_t process = profile->threads[profile->samples[index].thread.v].process;
	const struct sleep_end *end = &adding->ends[index];
	uint64_t to_ns = end->to_ns < UINT64_MAX ? end->to_ns + RELATIVES_LATE_NS : UINT64_MAX;
	struct str_id name;

	return relatives_child_name(&adding->relatives, process, end->from_ns, to_ns, &name)
		       ? name
		       : STR_EMPTY;
}

/* As far as times of samples and their weights agree with other clocks. */
#define SLACK_NS (100 * NS_PER_US)

/* Has it run before its time was up? */
static bool woke_before(const struct sleep_end *end, uint64_t time_ns)
{
	return end->until_ns < time_ns - min_u64(time_ns, SLACK_NS);
}

/* `index`: of the observation's sample. */
static struct waker waker_of(const struct adding *adding, uint32_t wait,
			     const struct observation *observation, size_t index)
{
	const struct profile *profile = adding->wakers->selection->expansion->profile;
	const struct sample *sample = &observation->sample;
	struct waker waker = {.wait = wait,
			      .how = how_of_call(profile, sample),
			      .thread = THREAD_NONE.v,
			      .peer = UINT32_MAX,
			      .child = STR_EMPTY,
			      .label = WAKER_NO_LABEL};
	const struct profile_wait *row;
	const struct profile_wake *wake;

	if (waited_for_child(profile, sample))
		waker.child = child_of(adding, index);
	if (adding->wakers->waits[wait].waited.kind == WAITED_CALL)
		return waker;
	row = &profile_waits(profile)->rows[sample->wait - 1];
	wake = wake_rows_of(&adding->noted, sample);
	if (wake && wake->waker == wake->thread && woke_before(&adding->ends[index], wake->to_ns))
		wake = NULL;
	if (wake && wake->waker == wake->thread && row->kind != WAIT_THREAD) {
		waker.how = WAKER_TIME;
	} else if (wake && row->kind != WAIT_THREAD) {
		waker.how = WAKER_WAKE;
		waker.thread = wake->waker;
		if (wake->where.v != UINT32_MAX)
			waker.label = expansion_innermost(adding->wakers->selection->expansion,
							  wake->where)
					      ->label;
	} else if (row->owner.v != THREAD_NONE.v) {
		waker.how = row->kind == WAIT_THREAD ? WAKER_END : WAKER_OWNER;
		waker.thread = row->owner.v;
	} else {
		waker.how = how_of_file(profile, sample, row);
		waker.peer = waker.how == WAKER_PEER ? sample->wait - 1 : UINT32_MAX;
	}
	return waker;
}

static uint32_t peer_text(const struct wakers *wakers, const struct waker *waker)
{
	const struct profile *profile = wakers->selection->expansion->profile;

	return waker->peer == UINT32_MAX ? UINT32_MAX
					 : profile_waits(profile)->rows[waker->peer].peer.v;
}

static bool same_waker(const void *owner, uint32_t index, const void *key)
{
	const struct wakers *wakers = owner;
	const struct waker *have = &wakers->rows[index], *want = key;

	return have->wait == want->wait && have->how == want->how && have->thread == want->thread &&
	       have->label == want->label && have->child.v == want->child.v &&
	       peer_text(wakers, have) == peer_text(wakers, want);
}

static uint32_t intern_waker(struct adding *adding, const struct waker *waker)
{
	struct wakers *wakers = adding->wakers;
	uint64_t hash = hash_mix(hash_mix(waker->wait, (uint64_t)waker->how),
				 (uint64_t)waker->thread << 32 | peer_text(wakers, waker));
	uint32_t found;

	hash = hash_mix(hash, (uint64_t)waker->label << 32 | waker->child.v);
	found = index_set_find(&adding->set, hash, same_waker, wakers, waker);
	if (found != INDEX_NONE)
		return found;
	found = (uint32_t)wakers->nr;
	ARRAY_GROW(wakers->rows, wakers->nr, wakers->cap);
	wakers->rows[wakers->nr++] = *waker;
	index_set_add(&adding->set, hash, found);
	return found;
}

static void add(struct adding *adding, const struct observation *observation, size_t index)
{
	struct wakers *wakers = adding->wakers;
	struct waker waker;
	uint32_t wait, row;

	tally_add_observation(&wakers->total, observation);
	if (!observation->weight)
		return;
	wait = wait_of(adding, observation);
	tally_add_observation(&wakers->waits[wait].tally, observation);
	waker = waker_of(adding, wait, observation, index);
	if (waker.how == WAKER_UNKNOWN)
		tally_add_observation(&wakers->unknown, observation);
	row = intern_waker(adding, &waker);
	tally_add_observation(&wakers->rows[row].tally, observation);
}

/* Where an owner was while others waited. */
static void name_owners(struct wakers *wakers)
{
	for (size_t i = 0; i < wakers->nr; i++) {
		struct waker *row = &wakers->rows[i];
		const struct waker_wait *wait = &wakers->waits[row->wait];
		const struct blame *blame;
		struct blame_owner owner;
		struct blame_part part;

		if (row->how != WAKER_OWNER)
			continue;
		blame = wakers_blame(wakers, wait);
		row->is_guess = blame_object(blame, wait->waited.number)->is_guess;
		for (size_t rank = 0; blame_owner(blame, wait->waited.number, rank, &owner);
		     rank++) {
			if (owner.thread == row->thread && blame_owner_in(blame, &owner, 0, &part))
				row->label = part.label;
		}
	}
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_waits(const void *left, const void *right, void *context)
{
	const struct waker_wait *waits = context;
	const uint32_t *a = left, *b = right;
	int order = compare_u64(waits[*b].tally.weight, waits[*a].tally.weight);

	return order ? order : compare_u64(*a, *b);
}

static int compare_wakers(const void *left, const void *right)
{
	const struct waker *a = left, *b = right;
	bool a_is_last = a->how == WAKER_UNKNOWN, b_is_last = b->how == WAKER_UNKNOWN;
	int order = compare_u64(a->wait, b->wait);

	order = order ? order : (int)a_is_last - (int)b_is_last;
	order = order ? order : compare_u64(b->tally.weight, a->tally.weight);
	order = order ? order : compare_u64(a->thread, b->thread);
	order = order ? order : compare_u64(a->label, b->label);
	return order ? order : compare_u64(a->child.v, b->child.v);
}

static void sort(struct wakers *wakers)
{
	uint32_t *order = xcalloc(wakers->nr_waits + 1, sizeof(*order));
	uint32_t *place = xcalloc(wakers->nr_waits + 1, sizeof(*place));
	struct waker_wait *sorted = xcalloc(wakers->nr_waits + 1, sizeof(*sorted));

	for (uint32_t i = 0; i < wakers->nr_waits; i++)
		order[i] = i;
	qsort_r(order, wakers->nr_waits, sizeof(*order), compare_waits, wakers->waits);
	for (uint32_t i = 0; i < wakers->nr_waits; i++) {
		sorted[i] = wakers->waits[order[i]];
		place[order[i]] = i;
	}
	free(wakers->waits);
	wakers->waits = sorted;
	for (size_t i = 0; i < wakers->nr; i++)
		wakers->rows[i].wait = place[wakers->rows[i].wait];
	if (wakers->nr)
		qsort(wakers->rows, wakers->nr, sizeof(*wakers->rows), compare_wakers);
	for (size_t i = wakers->nr; i > 0; i--) {
		struct waker_wait *wait = &wakers->waits[wakers->rows[i - 1].wait];

		wait->first = i - 1;
		wait->nr++;
	}
	free(order);
	free(place);
}

struct wakers *wakers_new(const struct selection *selection)
{
	struct wakers *wakers = xcalloc(1, sizeof(*wakers));
	struct adding adding = {.wakers = wakers,
				.ends = sleep_ends_of(selection->expansion->profile)};
	struct observation_walk walk;
	struct observation observation;

	wakers->selection = selection;
	wakers->objects.locks = blame_new(selection->expansion, true);
	wakers->objects.descriptors = blame_new(selection->expansion, false);
	wake_rows_init(&adding.noted, selection->expansion->profile);
	relatives_init(&adding.relatives, selection->expansion->profile);
	observation_walk_init(&walk, selection, METRIC_BLOCKED);
	while (observation_walk_next(&walk, &observation))
		add(&adding, &observation, walk.samples.next - 1);
	observation_walk_release(&walk);
	blame_finish(wakers->objects.locks);
	blame_finish(wakers->objects.descriptors);
	name_owners(wakers);
	sort(wakers);
	relatives_release(&adding.relatives);
	wake_rows_release(&adding.noted);
	free(adding.ends);
	pairs_release(&adding.keys);
	index_set_release(&adding.set);
	return wakers;
}

void wakers_free(struct wakers *wakers)
{
	if (!wakers)
		return;
	blame_free(wakers->objects.locks);
	blame_free(wakers->objects.descriptors);
	free(wakers->waits);
	free(wakers->rows);
	free(wakers);
}

const struct blame *wakers_blame(const struct wakers *wakers, const struct waker_wait *wait)
{
	return wait->waited.kind == WAITED_LOCK		? wakers->objects.locks
	       : wait->waited.kind == WAITED_DESCRIPTOR ? wakers->objects.descriptors
							: NULL;
}

void wakers_append_wait(struct buf *out, const struct wakers *wakers, const struct waker_wait *wait)
{
	waited_append(out, &wakers->objects, wakers->selection->expansion->profile, &wait->waited);
}
