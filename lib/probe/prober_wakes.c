// SPDX-License-Identifier: GPL-2.0-or-later
/* Notes of calls of futex(2) as rows of a profile. */
#include "probe/prober_wakes_priv.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/key_map.h"
#include "base/minmax.h"
#include "patch/note.h"
#include "probe/wake_order.h"
#include "profile/profile.h"
#include "profile/wakes.h"

/* A new thread is found by a tick, some time after it has begun: until then notes can wait. */
#define LATE_NS (100 * NS_PER_MS)
/* As far as both clocks are known to agree, and a thread is asleep after its note. */
#define SLACK_NS (50 * NS_PER_US)
/* In a profile, and of one process in it. */
#define WAKE_ROWS_MAX 4000000
#define OWN_ROWS_MAX  1000000
/* Short waits that are remembered for samples that may come; samples that wait for them. */
#define SHORT_MAX 131072
#define SEEN_MAX  65536
/* Short waits that are compared with a sample. */
#define COMPARED_MAX 1024
#define MEMO	     64

/* A thread that was seen asleep. */
struct seen {
	uint64_t time_ns, word;
	uint32_t thread;
};

struct ended {
	uint64_t word, caller;
	struct profile_wake row; /* `where` is not set yet */
	bool is_told;
};

struct noted_calls {
	struct patch_notes *shared; /* borrowed */
	struct wake_order *order;   /* owned, as all here */
	uint64_t next;		    /* of their numbers */
	uint64_t awaited;	    /* the number of one that was not complete at the last look */
	uint64_t nr_dropped;
	uint64_t nr_rows;
	uint64_t until_ns;    /* in the profile: of the last note that was read */
	struct key_map by_id; /* rows of threads of the process and its children */
	size_t nr_threads;    /* of the profile, that were looked at */
	struct ended *brief;  /* by their ends, nearly */
	size_t nr_brief, cap_brief;
	struct seen *seen;
	size_t nr_seen, cap_seen;
};

struct noted_calls *noted_calls_new(struct patch_notes *shared)
{
	struct noted_calls *noted;

	if (!shared)
		return NULL;
	noted = xcalloc(1, sizeof(*noted));
	noted->shared = shared;
	noted->order = wake_order_new();
	return noted;
}

void noted_calls_free(struct noted_calls *noted)
{
	if (!noted)
		return;
	wake_order_free(noted->order);
	key_map_release(&noted->by_id);
	free(noted->brief);
	free(noted->seen);
	free(noted);
}

uint64_t noted_calls_dropped(const struct noted_calls *noted)
{
	return noted ? noted->nr_dropped : 0;
}

struct telling {
	struct noted_calls *noted;
	const struct noted_calls_told *told;
	struct span_scale scale;
	uint64_t long_ns; /* waits as long are told anyway */
	struct {
		uint64_t caller;
		struct frame_id frame;
	} memo[MEMO];
};

static _Atomic uint64_t *word_at(uint64_t *shared)
{
	return (_Atomic uint64_t *)(void *)shared;
}

/* --- threads --- */

static void find_threads(struct telling *telling)
{
	const struct profile *profile = telling->told->profile;
	struct noted_calls *noted = telling->noted;

	for (; noted->nr_threads < profile->nr_threads; noted->nr_threads++) {
		const struct profile_thread *thread = &profile->threads[noted->nr_threads];

		if (thread->tid > 0 && span_has_thread(profile, thread, telling->told->process))
			key_map_put(&noted->by_id, 0, (uint64_t)thread->tid,
				    (uint32_t)noted->nr_threads);
	}
}

static uint32_t thread_of(const struct telling *telling, uint32_t tid)
{
	uint32_t row;

	return key_map_find(&telling->noted->by_id, 0, tid, &row) ? row : UINT32_MAX;
}

/* A thread that is not known is one of the process itself, rather than of a child. */
static uint32_t process_of(const struct telling *telling, uint32_t tid)
{
	uint32_t row = thread_of(telling, tid);

	return row == UINT32_MAX ? telling->told->process
				 : telling->told->profile->threads[row].process;
}

/* --- waits that were ended --- */

static struct frame_id frame_of(struct telling *telling, uint64_t caller)
{
	size_t at = (caller >> 1) % MEMO;

	if (!caller)
		return (struct frame_id){UINT32_MAX};
	if (telling->memo[at].caller != caller) {
		telling->memo[at].caller = caller;
		telling->memo[at].frame = telling->told->frame_of(telling->told->context, caller);
	}
	return telling->memo[at].frame;
}

static void tell(struct telling *telling, struct ended *ended)
{
	struct profile *profile = telling->told->profile;

	ended->is_told = true;
	if (profile->probes.wakes.nr >= WAKE_ROWS_MAX || telling->noted->nr_rows >= OWN_ROWS_MAX) {
		telling->noted->nr_dropped++;
		return;
	}
	telling->noted->nr_rows++;
	ended->row.where = frame_of(telling, ended->caller);
	profile_add_wake(profile, &ended->row);
}

static void add_ended(void *context, const struct wake_ended *wake)
{
	struct telling *telling = context;
	struct noted_calls *noted = telling->noted;
	struct ended ended = {.word = wake->word,
			      .caller = wake->caller,
			      .row = {.thread = thread_of(telling, wake->tid),
				      .waker = thread_of(telling, wake->waker),
				      .from_ns = span_time_ns(&telling->scale, wake->from),
				      .to_ns = span_time_ns(&telling->scale, wake->to)}};

	if (ended.row.thread == UINT32_MAX || ended.row.waker == UINT32_MAX)
		return;
	ended.row.to_ns = max_u64(ended.row.to_ns, ended.row.from_ns);
	if (ended.row.to_ns - ended.row.from_ns >= telling->long_ns) {
		tell(telling, &ended);
		return;
	}
	if (noted->nr_brief >= SHORT_MAX)
		return;
	ARRAY_GROW(noted->brief, noted->nr_brief, noted->cap_brief);
	noted->brief[noted->nr_brief++] = ended;
}

/* --- notes --- */

enum taken { TAKEN, TAKEN_LATER, TAKEN_NEVER };

/* Copies a note, unless it is not written yet, or another one is over it. */
static enum taken take(struct telling *telling, struct patch_note *note)
{
	struct noted_calls *noted = telling->noted;
	uint64_t number = noted->next + 1;
	struct patch_note *at = &noted->shared->notes[(number - 1) % PATCH_NOTES];
	uint64_t written = atomic_load_explicit(word_at(&at->number), memory_order_acquire);

	if (written < number && noted->awaited != number && !telling->told->is_last) {
		noted->awaited = number;
		return TAKEN_LATER;
	}
	*note = *(volatile struct patch_note *)at;
	atomic_thread_fence(memory_order_acquire);
	/* The next one in this place would have taken its number by now. */
	if (written != number ||
	    atomic_load_explicit(word_at(&noted->shared->nr), memory_order_acquire) >=
		    number + PATCH_NOTES ||
	    note->time < telling->scale.begun->cycles)
		return TAKEN_NEVER;
	/* It was made since the clock was read, or is invented. */
	if (note->time > telling->scale.now.cycles)
		return span_length_ns(&telling->scale, note->time - telling->scale.now.cycles) <
				       LATE_NS
			       ? TAKEN_LATER
			       : TAKEN_NEVER;
	if (!telling->told->is_last &&
	    span_length_ns(&telling->scale, telling->scale.now.cycles - note->time) < LATE_NS)
		return TAKEN_LATER;
	return TAKEN;
}

static void lose(struct noted_calls *noted, uint64_t nr)
{
	/* An invented number is not believed in the end. */
	noted->nr_dropped =
		nr > UINT64_MAX - noted->nr_dropped ? UINT64_MAX : noted->nr_dropped + nr;
	wake_order_forget(noted->order);
}

static void read_notes(struct telling *telling)
{
	struct noted_calls *noted = telling->noted;
	uint64_t nr = atomic_load_explicit(word_at(&noted->shared->nr), memory_order_acquire);
	struct patch_note note;

	if (nr < noted->next) /* the process has written to it */
		return;
	if (nr > noted->next + PATCH_NOTES) {
		lose(noted, nr - PATCH_NOTES - noted->next);
		noted->next = nr - PATCH_NOTES;
	}
	while (noted->next < nr) {
		enum taken taken = take(telling, &note);

		if (taken == TAKEN_LATER)
			break;
		noted->next++;
		if (taken == TAKEN_NEVER) {
			lose(noted, 1);
			continue;
		}
		noted->until_ns = span_time_ns(&telling->scale, note.time);
		wake_order_add(noted->order, process_of(telling, note.tid), &note, add_ended,
			       telling);
	}
}

/* --- samples --- */

static void find_seen(struct telling *telling)
{
	const struct profile *profile = telling->told->profile;
	struct noted_calls *noted = telling->noted;

	for (size_t i = 0; i < profile->nr_samples && noted->nr_seen < SEEN_MAX; i++) {
		const struct sample *sample = &profile->samples[i];
		const struct profile_wait *wait;

		if (sample->kind != SAMPLE_BLOCKED || !sample->nr || !sample->wait ||
		    sample->syscall_nr != SYS_futex)
			continue;
		wait = &profile_waits(profile)->rows[sample->wait - 1];
		if (!span_has_thread(profile, &profile->threads[sample->thread.v],
				     telling->told->process))
			continue;
		ARRAY_GROW(noted->seen, noted->nr_seen, noted->cap_seen);
		noted->seen[noted->nr_seen++] = (struct seen){.time_ns = sample->time_ns,
							      .word = wait->number,
							      .thread = sample->thread.v};
	}
}

/* The first short wait that ended at that time or later. */
static size_t brief_from(const struct noted_calls *noted, uint64_t time_ns)
{
	size_t low = 0, high = noted->nr_brief;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (noted->brief[middle].row.to_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void tell_seen(struct telling *telling, const struct seen *seen)
{
	struct noted_calls *noted = telling->noted;
	size_t at = brief_from(noted, seen->time_ns - min_u64(seen->time_ns, SLACK_NS));
	struct ended *near = NULL;

	for (size_t i = at; i < noted->nr_brief && i - at < COMPARED_MAX; i++) {
		struct ended *ended = &noted->brief[i];

		if (ended->row.to_ns > seen->time_ns + telling->long_ns + SLACK_NS)
			break;
		if (ended->row.thread != seen->thread || ended->word != seen->word ||
		    ended->row.from_ns > seen->time_ns + SLACK_NS)
			continue;
		near = ended;
		if (ended->row.from_ns <= seen->time_ns && ended->row.to_ns >= seen->time_ns)
			break;
	}
	if (near && !near->is_told)
		tell(telling, near);
}

/* Samples of a time that the notes have reached. */
static void tell_all_seen(struct telling *telling)
{
	struct noted_calls *noted = telling->noted;
	uint64_t reached_ns = noted->until_ns - min_u64(noted->until_ns, telling->long_ns);
	size_t nr = 0;

	for (size_t i = 0; i < noted->nr_seen; i++) {
		if (noted->seen[i].time_ns <= reached_ns || telling->told->is_last)
			tell_seen(telling, &noted->seen[i]);
		else
			noted->seen[nr++] = noted->seen[i];
	}
	noted->nr_seen = nr;
}

/* Samples of sleeps come some time after them. */
#define KEPT_NS (3 * NS_PER_SEC)

static void forget_brief(struct noted_calls *noted)
{
	size_t nr = brief_from(noted, noted->until_ns - min_u64(noted->until_ns, KEPT_NS));

	if (noted->nr_brief - nr > SHORT_MAX / 2)
		nr = noted->nr_brief - SHORT_MAX / 2;
	if (nr)
		memmove(noted->brief, noted->brief + nr,
			(noted->nr_brief - nr) * sizeof(*noted->brief));
	noted->nr_brief -= nr;
}

void noted_calls_tell(struct noted_calls *noted, const struct noted_calls_told *told)
{
	struct telling telling = {
		.noted = noted, .told = told, .scale = span_scale_since(told->begun)};
	uint32_t frequency = told->profile->meta.frequency_hz;

	telling.scale.start_ns = told->start_ns;
	telling.long_ns = NS_PER_SEC / (frequency ? frequency : 100);
	if (telling.scale.ns_per_cycle <= 0)
		return;
	find_threads(&telling);
	find_seen(&telling);
	read_notes(&telling);
	tell_all_seen(&telling);
	forget_brief(noted);
}
