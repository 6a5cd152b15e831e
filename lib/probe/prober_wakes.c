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
/* Threads whose waits end by themselves. */
#define TIME_OUTS_MAX 65536
/* After the end of its time a thread sleeps on for so long, by the slack of timers. */
#define TIMER_LATE_NS (50 * NS_PER_US + SLACK_NS)
/* Short waits that are compared with a sample. */
#define COMPARED_MAX 1024
#define MEMO	     64

/* A thread that was seen asleep. */
struct seen {
	uint64_t time_ns, word;
	uint32_t thread;
};

/* Threads that were seen in a wait which ends by itself. */
struct time_outs {
	/* Owned, as all here: those that the notes have not reached yet, by the times of samples.
	 */
	struct profile_time_out *coming;
	size_t nr_coming, cap_coming;
	/* Others; each thread in its last wait. */
	struct profile_time_out *rows;
	size_t nr, cap;
	struct key_map by_thread; /* by its row and one; index of `rows` */
	uint64_t due_ns;	  /* until then none of them needs a look */
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
	struct time_outs time_outs;
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
	free(noted->time_outs.coming);
	free(noted->time_outs.rows);
	key_map_release(&noted->time_outs.by_thread);
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

/* --- waits that end by themselves --- */

/* The wait in which the thread was seen, if it has not ended: since when? */
static bool waits_on(const struct telling *telling, const struct profile_time_out *row,
		     uint64_t *from_ns)
{
	const struct profile_thread *thread = &telling->told->profile->threads[row->thread];
	uint64_t from;

	if (!wake_order_waits(telling->noted->order, thread->process, (uint32_t)thread->tid,
			      row->word, &from))
		return false;
	*from_ns = span_time_ns(&telling->scale, from);
	return *from_ns <= row->seen_ns + SLACK_NS;
}

static void find_time_outs(struct telling *telling)
{
	const struct profile *profile = telling->told->profile;
	const struct profile_time_outs *seen = &profile->probes.time_outs;
	struct time_outs *outs = &telling->noted->time_outs;

	for (size_t i = 0; i < seen->nr && outs->nr_coming < TIME_OUTS_MAX; i++) {
		if (!span_has_thread(profile, &profile->threads[seen->rows[i].thread],
				     telling->told->process))
			continue;
		ARRAY_GROW(outs->coming, outs->nr_coming, outs->cap_coming);
		outs->coming[outs->nr_coming++] = seen->rows[i];
	}
}

static void add_time_out(struct telling *telling, struct profile_time_out row)
{
	struct time_outs *outs = &telling->noted->time_outs;
	uint64_t from_ns;
	uint32_t index;

	if (!waits_on(telling, &row, &from_ns))
		return;
	if (row.is_length)
		row.ns += from_ns;
	/* It slept after that: its clock is another, as that of a time namespace. */
	if (row.ns + TIMER_LATE_NS < row.seen_ns)
		return;
	if (!key_map_find(&outs->by_thread, 0, (uint64_t)row.thread + 1, &index)) {
		if (outs->nr >= TIME_OUTS_MAX)
			return;
		index = (uint32_t)outs->nr;
		ARRAY_GROW(outs->rows, outs->nr, outs->cap);
		key_map_put(&outs->by_thread, 0, (uint64_t)row.thread + 1, index);
		outs->nr++;
	}
	outs->rows[index] = row;
	outs->due_ns = min_u64(outs->nr > 1 ? outs->due_ns : UINT64_MAX, row.ns + TIMER_LATE_NS);
}

/* The notes are known up to then. */
static void add_time_outs(struct telling *telling, uint64_t now_ns)
{
	struct time_outs *outs = &telling->noted->time_outs;
	size_t nr = 0;

	while (nr < outs->nr_coming && outs->coming[nr].seen_ns <= now_ns)
		add_time_out(telling, outs->coming[nr++]);
	if (!nr)
		return;
	memmove(outs->coming, outs->coming + nr, (outs->nr_coming - nr) * sizeof(*outs->coming));
	outs->nr_coming -= nr;
}

static void drop_time_out(struct time_outs *outs, size_t index)
{
	uint32_t unused;

	key_map_take(&outs->by_thread, 0, (uint64_t)outs->rows[index].thread + 1, &unused);
	outs->rows[index] = outs->rows[--outs->nr];
	if (index < outs->nr)
		key_map_put(&outs->by_thread, 0, (uint64_t)outs->rows[index].thread + 1,
			    (uint32_t)index);
}

/* The wait was not ended by a noted call, and its time was up. */
static void tell_time_out(struct telling *telling, const struct profile_time_out *row)
{
	const struct profile_thread *thread = &telling->told->profile->threads[row->thread];
	struct ended ended = {
		.row = {.thread = row->thread, .waker = row->thread, .to_ns = row->ns}};

	if (!waits_on(telling, row, &ended.row.from_ns) || ended.row.from_ns > row->ns)
		return;
	wake_order_take_out(telling->noted->order, thread->process, (uint32_t)thread->tid);
	tell(telling, &ended);
}

/* The notes are known up to then. */
static void tell_time_outs(struct telling *telling, uint64_t now_ns)
{
	struct time_outs *outs = &telling->noted->time_outs;
	uint64_t next_ns = UINT64_MAX;

	add_time_outs(telling, now_ns);
	if (!outs->nr || now_ns < outs->due_ns)
		return;
	for (size_t i = 0; i < outs->nr;) {
		uint64_t at_ns = outs->rows[i].ns + TIMER_LATE_NS;

		if (now_ns >= at_ns) {
			tell_time_out(telling, &outs->rows[i]);
			drop_time_out(outs, i);
		} else {
			next_ns = min_u64(next_ns, at_ns);
			i++;
		}
	}
	outs->due_ns = next_ns;
}

/* The thread makes another call, so that it does not wait any more. */
static void tell_own_time_out(struct telling *telling, uint32_t thread, uint64_t now_ns)
{
	struct time_outs *outs = &telling->noted->time_outs;
	uint32_t index;

	if (thread == UINT32_MAX ||
	    !key_map_find(&outs->by_thread, 0, (uint64_t)thread + 1, &index))
		return;
	if (outs->rows[index].ns <= now_ns + SLACK_NS)
		tell_time_out(telling, &outs->rows[index]);
	drop_time_out(outs, index);
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

/* Returns the time up to which all notes are known. */
static uint64_t read_notes(struct telling *telling)
{
	struct noted_calls *noted = telling->noted;
	uint64_t nr = atomic_load_explicit(word_at(&noted->shared->nr), memory_order_acquire);
	struct patch_note note;

	if (nr < noted->next) /* the process has written to it */
		return noted->until_ns;
	if (nr > noted->next + PATCH_NOTES) {
		lose(noted, nr - PATCH_NOTES - noted->next);
		noted->next = nr - PATCH_NOTES;
	}
	while (noted->next < nr) {
		enum taken taken = take(telling, &note);

		if (taken == TAKEN_LATER)
			return noted->until_ns;
		noted->next++;
		if (taken == TAKEN_NEVER) {
			lose(noted, 1);
			continue;
		}
		noted->until_ns = span_time_ns(&telling->scale, note.time);
		tell_time_outs(telling, noted->until_ns);
		tell_own_time_out(telling, thread_of(telling, note.tid), noted->until_ns);
		wake_order_add(noted->order, process_of(telling, note.tid), &note, add_ended,
			       telling);
	}
	return span_time_ns(&telling->scale, telling->scale.now.cycles) -
	       (telling->told->is_last ? 0 : LATE_NS);
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
	find_time_outs(&telling);
	tell_time_outs(&telling, read_notes(&telling));
	tell_all_seen(&telling);
	forget_brief(noted);
}
