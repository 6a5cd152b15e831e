// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums up blocked time by what ended the waits. */
#include "calltree/wakers.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/syscall_name.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/observe.h"
#include "calltree/pairs.h"
#include "profile/profile.h"

/* While rows are summed up. */
struct adding {
	struct wakers *wakers;
	struct pairs keys; /* of waits: their kind and number; the id is the row */
	struct index_set set;
};

enum wait_key { KEY_LOCK, KEY_DESCRIPTOR, KEY_CALL };

static bool is_object(struct blame *blame, const struct observation *observation, uint32_t *number)
{
	*number = blame_add(blame, observation);
	return blame_object(blame, *number)->what == BLAME_OBJECT;
}

static uint32_t wait_of(struct adding *adding, const struct observation *observation)
{
	struct wakers *wakers = adding->wakers;
	struct waker_wait row = {.number = (uint32_t)observation->sample.syscall_nr};
	enum wait_key key = KEY_CALL;
	uint32_t number, id;

	if (is_object(wakers->locks, observation, &number)) {
		key = KEY_LOCK;
		row = (struct waker_wait){.blame = wakers->locks, .number = number};
	} else if (is_object(wakers->descriptors, observation, &number)) {
		key = KEY_DESCRIPTOR;
		row = (struct waker_wait){.blame = wakers->descriptors, .number = number};
	} else if (observation->sample.kind != SAMPLE_BLOCKED) {
		row.number = (uint32_t)-1;
	}
	id = pairs_add(&adding->keys, (uint32_t)key, row.number, observation->weight);
	if (id == wakers->nr_waits) {
		ARRAY_GROW(wakers->waits, wakers->nr_waits, wakers->cap_waits);
		wakers->waits[wakers->nr_waits++] = row;
	}
	return id;
}

static bool is_call(const struct profile *profile, const struct sample *sample,
		    const char *const *names)
{
	const char *name = sample->syscall_nr < 0
				   ? NULL
				   : syscall_name(profile_str(profile, profile->meta.arch),
						  sample->syscall_nr);

	for (; name && *names; names++) {
		if (strcmp(name, *names) == 0)
			return true;
	}
	return false;
}

/* Some calls wait for one thing only, so that they tell without an object. */
static enum waker_how how_of_call(const struct profile *profile, const struct sample *sample)
{
	static const char *const sleeps[] = {"clock_nanosleep", "nanosleep", NULL};
	static const char *const of_children[] = {"wait4", "waitid", NULL};

	if (sample->kind != SAMPLE_BLOCKED)
		return WAKER_UNKNOWN;
	return is_call(profile, sample, sleeps)	       ? WAKER_TIME
	       : is_call(profile, sample, of_children) ? WAKER_CHILD
						       : WAKER_UNKNOWN;
}

static struct waker waker_of(const struct adding *adding, uint32_t wait,
			     const struct observation *observation)
{
	const struct profile *profile = adding->wakers->selection->expansion->profile;
	const struct sample *sample = &observation->sample;
	struct waker waker = {.wait = wait,
			      .how = how_of_call(profile, sample),
			      .thread = THREAD_NONE.v,
			      .peer = UINT32_MAX,
			      .label = WAKER_NO_LABEL};
	const struct profile_wait *row;

	if (!adding->wakers->waits[wait].blame)
		return waker;
	row = &profile_waits(profile)->rows[sample->wait - 1];
	if (row->owner.v != THREAD_NONE.v) {
		waker.how = row->kind == WAIT_THREAD ? WAKER_END : WAKER_OWNER;
		waker.thread = row->owner.v;
	} else if (row->kind == WAIT_FILE && row->peer.v != STR_EMPTY.v) {
		waker.how = WAKER_PEER;
		waker.peer = sample->wait - 1;
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
	       have->label == want->label && peer_text(wakers, have) == peer_text(wakers, want);
}

static uint32_t intern_waker(struct adding *adding, const struct waker *waker)
{
	struct wakers *wakers = adding->wakers;
	uint64_t hash = hash_mix(hash_mix(waker->wait, (uint64_t)waker->how),
				 (uint64_t)waker->thread << 32 | peer_text(wakers, waker));
	uint32_t found;

	hash = hash_mix(hash, waker->label);
	found = index_set_find(&adding->set, hash, same_waker, wakers, waker);
	if (found != INDEX_NONE)
		return found;
	found = (uint32_t)wakers->nr;
	ARRAY_GROW(wakers->rows, wakers->nr, wakers->cap);
	wakers->rows[wakers->nr++] = *waker;
	index_set_add(&adding->set, hash, found);
	return found;
}

static void add(struct adding *adding, const struct observation *observation)
{
	struct wakers *wakers = adding->wakers;
	struct waker waker;
	uint32_t wait, row;

	tally_add_observation(&wakers->total, observation);
	if (!observation->weight)
		return;
	wait = wait_of(adding, observation);
	tally_add_observation(&wakers->waits[wait].tally, observation);
	waker = waker_of(adding, wait, observation);
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
		struct blame_owner owner;
		struct blame_part part;

		if (row->how != WAKER_OWNER)
			continue;
		row->is_guess = blame_object(wait->blame, wait->number)->is_guess;
		for (size_t rank = 0; blame_owner(wait->blame, wait->number, rank, &owner);
		     rank++) {
			if (owner.thread == row->thread &&
			    blame_owner_in(wait->blame, &owner, 0, &part))
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
	return order ? order : compare_u64(a->label, b->label);
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
	struct adding adding = {.wakers = wakers};
	struct observation_walk walk;
	struct observation observation;

	wakers->selection = selection;
	wakers->locks = blame_new(selection->expansion, true);
	wakers->descriptors = blame_new(selection->expansion, false);
	observation_walk_init(&walk, selection, METRIC_BLOCKED);
	while (observation_walk_next(&walk, &observation))
		add(&adding, &observation);
	observation_walk_release(&walk);
	blame_finish(wakers->locks);
	blame_finish(wakers->descriptors);
	name_owners(wakers);
	sort(wakers);
	pairs_release(&adding.keys);
	index_set_release(&adding.set);
	return wakers;
}

void wakers_free(struct wakers *wakers)
{
	if (!wakers)
		return;
	blame_free(wakers->locks);
	blame_free(wakers->descriptors);
	free(wakers->waits);
	free(wakers->rows);
	free(wakers);
}

void wakers_append_wait(struct buf *out, const struct wakers *wakers, const struct waker_wait *wait)
{
	const struct profile *profile = wakers->selection->expansion->profile;
	int nr = (int32_t)wait->number;
	const char *name;

	if (wait->blame) {
		blame_append_name(out, wait->blame, wait->number);
		return;
	}
	name = nr < 0 ? NULL : syscall_name(profile_str(profile, profile->meta.arch), nr);
	if (name)
		buf_append_str(out, name);
	else if (nr >= 0)
		buf_printf(out, "system call %d", nr);
	else if (nr == SAMPLE_PAGE_FAULT)
		buf_append_str(out, "[page fault]");
	else
		buf_append_str(out, "[not known]");
}
