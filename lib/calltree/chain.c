// SPDX-License-Identifier: GPL-2.0-or-later
/* Follows what threads did and waited for, back in time. */
#include "calltree/chain.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/index_set.h"
#include "base/minmax.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/relatives.h"
#include "calltree/wait_function.h"
#include "calltree/wake_rows.h"
#include "profile/courses.h"
#include "profile/profile.h"
#include "profile/slow_calls.h"

/* The most links at one moment: two threads may wait for each other. */
#define LINKS_MAX 16

#define NONE RELATIVE_NONE

struct walk {
	struct chain *chain;
	const struct profile *profile;
	struct courses *courses;
	size_t *sleep_ends; /* by row of courses; for sleeps, the row of the last stretch of it */
	struct index_set rows;
	uint32_t *wait_functions; /* by stack */
	struct relatives relatives;
	struct wake_rows noted;
};

/* --- rows --- */

static bool same_row(const void *owner, uint32_t index, const void *key)
{
	const struct chain *chain = owner;
	const struct chain_row *have = &chain->rows[index], *want = key;

	return have->state == want->state && have->thread == want->thread &&
	       have->label == want->label && have->waited.kind == want->waited.kind &&
	       have->waited.number == want->waited.number;
}

static void add_row(struct walk *walk, const struct chain_row *row,
		    const struct observation *observation)
{
	struct chain *chain = walk->chain;
	uint64_t hash = hash_mix(hash_mix(row->thread, (uint64_t)row->state),
				 (uint64_t)row->label << 32 | row->waited.number);
	uint32_t found = index_set_find(&walk->rows, hash, same_row, chain, row);

	if (found == INDEX_NONE) {
		found = (uint32_t)chain->nr;
		ARRAY_GROW(chain->rows, chain->nr, chain->cap);
		chain->rows[chain->nr++] = *row;
		index_set_add(&walk->rows, hash, found);
	}
	tally_add_observation(&chain->rows[found].tally, observation);
	tally_add_observation(&chain->states[row->state], observation);
	tally_add_observation(&chain->total, observation);
}

/* The innermost function outside the C library, as for waits; else the innermost function. */
static uint32_t function_of(const struct walk *walk, const struct sample *sample)
{
	const struct expansion *expansion = walk->chain->selection->original;
	uint32_t label = walk->wait_functions[sample->stack.v];

	if (label != WAIT_FUNCTION_NONE)
		return label;
	if (sample->stack.v == STACK_EMPTY.v)
		return CHAIN_NO_LABEL;
	return expansion_innermost(expansion,
				   stack_trie_frame(walk->profile->stacks, sample->stack))
		->label;
}

/* A part of the path of that length, before the parts so far. */
static void add_part(struct walk *walk, const struct chain_row *row, float on_cpu, uint64_t end_ns,
		     uint64_t ns)
{
	struct chain *chain = walk->chain;
	struct chain_part *last = chain->nr_parts ? &chain->parts[chain->nr_parts - 1] : NULL;

	if (last && last->begin_ns == end_ns && last->thread == row->thread &&
	    last->label == row->label && last->state == row->state && last->on_cpu == on_cpu &&
	    last->waited.kind == row->waited.kind && last->waited.number == row->waited.number) {
		last->begin_ns -= ns;
		return;
	}
	ARRAY_GROW(chain->parts, chain->nr_parts, chain->cap_parts);
	chain->parts[chain->nr_parts++] = (struct chain_part){.begin_ns = end_ns - ns,
							      .end_ns = end_ns,
							      .thread = row->thread,
							      .label = row->label,
							      .waited = row->waited,
							      .state = row->state,
							      .on_cpu = on_cpu};
}

static void add_unknown(struct walk *walk, uint32_t thread, uint64_t end_ns, uint64_t ns)
{
	const struct chain_row row = {
		.state = CHAIN_UNKNOWN, .thread = thread, .label = CHAIN_NO_LABEL};

	add_part(walk, &row, 0, end_ns, ns);
	add_row(walk, &row, &(struct observation){.weight = ns});
}

/* Add `ns` of a stretch of the thread to the chain, up to a moment. */
static void add(struct walk *walk, uint32_t thread, const struct stretch *stretch, uint64_t end_ns,
		uint64_t ns)
{
	uint64_t on_cpu_ns = (uint64_t)((double)stretch->on_cpu * (double)ns);
	uint64_t length_ns = stretch->end_ns - stretch->begin_ns;
	struct chain_row row = {.state = CHAIN_WAITING, .thread = thread};
	struct observation observation = {
		.sample = walk->profile->samples[stretch->sample],
		.weight = ns,
		.slack = (double)stretch->unsure * (double)ns,
		.square = (double)ns * (double)length_ns,
	};

	if (stretch->on_cpu <= 0) {
		row.label = function_of(walk, &observation.sample);
		row.waited = waited_of(&walk->chain->objects, &observation);
		add_part(walk, &row, 0, end_ns, ns);
		add_row(walk, &row, &observation);
		return;
	}
	row.state = CHAIN_RUNNING;
	row.label = function_of(walk, &observation.sample);
	add_part(walk, &row, stretch->on_cpu, end_ns, ns);
	observation.weight = min_u64(on_cpu_ns, ns);
	observation.square = (double)observation.weight * (double)length_ns;
	if (observation.weight)
		add_row(walk, &row, &observation);
	row.state = CHAIN_RUNNABLE;
	row.label = CHAIN_NO_LABEL;
	observation.weight = ns - observation.weight;
	observation.square = (double)observation.weight * (double)length_ns;
	if (observation.weight)
		add_row(walk, &row, &observation);
}

/* --- links --- */

/* The last stretch of a thread that began before that moment; NULL: there is none. */
static const struct stretch *stretch_before(const struct walk *walk, uint32_t thread,
					    uint64_t time_ns)
{
	const struct courses *courses = walk->courses;
	size_t from = courses->firsts[thread], to = courses->firsts[thread + 1], first = from;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (courses->rows[middle].begin_ns < time_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from > first ? &courses->rows[from - 1] : NULL;
}

static bool is_sleep(const struct walk *walk, const struct stretch *stretch)
{
	return stretch->on_cpu <= 0 &&
	       walk->profile->samples[stretch->sample].kind == SAMPLE_BLOCKED;
}

/* Is the next stretch of the thread more of the same sleep? */
static bool sleep_goes_on(const struct walk *walk, const struct stretch *stretch)
{
	const struct sample *sample = &walk->profile->samples[stretch->sample];
	const struct sample *next = &walk->profile->samples[stretch[1].sample];

	return stretch[1].begin_ns == stretch->end_ns && is_sleep(walk, &stretch[1]) &&
	       next->wait == sample->wait && next->syscall_nr == sample->syscall_nr;
}

static void find_sleep_ends(struct walk *walk)
{
	const struct courses *courses = walk->courses;

	walk->sleep_ends = xcalloc(courses->nr + 1, sizeof(*walk->sleep_ends));
	for (uint32_t thread = 0; thread < walk->profile->nr_threads; thread++) {
		size_t first = courses->firsts[thread], end = courses->firsts[thread + 1];

		for (size_t i = end; i > first; i--) {
			bool is_last = i == end || !sleep_goes_on(walk, &courses->rows[i - 1]);

			walk->sleep_ends[i - 1] = is_last ? i - 1 : walk->sleep_ends[i];
		}
	}
}

/* The last stretch of a sleep, which goes on from sample to sample. */
static const struct stretch *end_of_sleep(const struct walk *walk, const struct stretch *stretch)
{
	return &walk->courses->rows[walk->sleep_ends[stretch - walk->courses->rows]];
}

/* The child that a thread waited for at that moment: maybe one that ended only later. */
static uint32_t child_of(const struct walk *walk, uint32_t thread, const struct stretch *stretch,
			 uint64_t time_ns)
{
	const struct relatives *relatives = &walk->relatives;
	const struct courses *courses = walk->courses;
	uint32_t process = walk->profile->threads[thread].process, child = PROCESS_NONE;
	const struct stretch *last = end_of_sleep(walk, stretch);

	if (last->end_ns > time_ns + RELATIVES_LATE_NS)
		child = relatives_child_ended(relatives, process, time_ns,
					      time_ns + RELATIVES_LATE_NS,
					      last->end_ns + RELATIVES_LATE_NS);
	/* The recording ended before the wait did. */
	if (child == PROCESS_NONE && last + 1 == &courses->rows[courses->firsts[thread + 1]])
		child = relatives->living[relatives->first_rows[process]];
	if (child == PROCESS_NONE)
		child = relatives_child_ended(relatives, process, time_ns, stretch->begin_ns,
					      time_ns + RELATIVES_LATE_NS);
	if (child == PROCESS_NONE)
		return NONE;
	return relatives->leaders[relatives_program_at(relatives, child, time_ns)];
}

/*
 * The thread at the other end of a pipe or socket: the only one there is, or the only one that ran
 * when the wait was over, as it had to write or read then.
 */
static uint32_t other_end(const struct walk *walk, uint32_t thread, const struct stretch *stretch,
			  const struct profile_wait *wait)
{
	uint64_t end_ns = end_of_sleep(walk, stretch)->end_ns;
	uint32_t threads[RELATIVES_PEERS_MAX], only = NONE, running = NONE;
	size_t nr = relatives_at_other_end(&walk->relatives, wait, end_ns, threads);
	size_t nr_there = 0, nr_running = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct stretch *last =
			threads[i] == thread ? NULL : stretch_before(walk, threads[i], end_ns);

		if (!last || last->end_ns <= stretch->begin_ns)
			continue;
		nr_there++;
		only = threads[i];
		if (last->end_ns >= end_ns && last->on_cpu > 0) {
			nr_running++;
			running = threads[i];
		}
	}
	return nr_there == 1 ? only : nr_running == 1 ? running : NONE;
}

/* The thread that a sleeping thread waited for; NONE if unknown. */
static uint32_t awaited(const struct walk *walk, uint32_t thread, const struct stretch *stretch,
			uint64_t time_ns, enum chain_link *link)
{
	const struct profile *profile = walk->profile;
	const struct sample *sample = &profile->samples[stretch->sample];
	const struct profile_wait *wait;
	const struct profile_wake *wake;
	uint32_t other = NONE;

	if (!is_sleep(walk, stretch))
		return NONE;
	wait = sample->wait ? &profile_waits(profile)->rows[sample->wait - 1] : NULL;
	if (wait && wait->kind == WAIT_FILE) {
		*link = CHAIN_BY_PEER;
		other = other_end(walk, thread, stretch, wait);
	} else if (wait && wait->kind != WAIT_THREAD &&
		   (wake = wake_rows_find(&walk->noted, thread, stretch->begin_ns,
					  min_u64(stretch->end_ns, time_ns)))) {
		*link = CHAIN_BY_WAKE;
		other = wake->waker;
	} else if (wait) {
		*link = wait->kind == WAIT_THREAD ? CHAIN_BY_END : CHAIN_BY_OWNER;
		if (wait->owner.v != THREAD_NONE.v)
			other = wait->owner.v;
	} else if (waited_for_child(profile, sample)) {
		*link = CHAIN_BY_CHILD;
		other = child_of(walk, thread, stretch, time_ns);
	}
	return other == thread ? NONE : other;
}

/*
 * Two threads can seem to wait for each other, as the order within the distance of samples is not
 * known. The path stays with the one that began to wait last, as it had done something before.
 */
static bool is_mutual(const struct walk *walk, uint32_t thread, const struct stretch *stretch,
		      uint32_t other, const struct stretch *last, uint64_t time_ns)
{
	enum chain_link link;

	return last->end_ns >= time_ns && last->begin_ns <= stretch->begin_ns &&
	       awaited(walk, other, last, time_ns, &link) == thread;
}

/* --- the way back --- */

/*
 * If the thread waited for another one, return that one, and add to the chain what the wait lasted
 * after the other one had ended. NONE if it waited for no known thread.
 */
static uint32_t hop(struct walk *walk, uint32_t thread, const struct stretch *stretch,
		    uint64_t from_ns, uint64_t *time_ns)
{
	enum chain_link link;
	uint32_t other = NONE;
	const struct stretch *last;

	if (stretch->end_ns >= *time_ns)
		other = awaited(walk, thread, stretch, *time_ns, &link);
	last = other == NONE ? NULL : stretch_before(walk, other, *time_ns);
	if (!last || last->end_ns <= max_u64(stretch->begin_ns, from_ns) ||
	    is_mutual(walk, thread, stretch, other, last, *time_ns))
		return NONE;
	if (last->end_ns < *time_ns) {
		add(walk, thread, stretch, *time_ns, *time_ns - last->end_ns);
		*time_ns = last->end_ns;
	}
	walk->chain->nr_links[link]++;
	return other;
}

static void follow(struct walk *walk, uint32_t thread, uint64_t from_ns, uint64_t time_ns)
{
	unsigned int nr_links = 0;

	while (time_ns > from_ns) {
		const struct stretch *stretch = stretch_before(walk, thread, time_ns);
		uint64_t begin_ns = from_ns;
		uint32_t other = NONE;

		if (nr_links < LINKS_MAX)
			other = stretch ? hop(walk, thread, stretch, from_ns, &time_ns)
					: relatives_begun_by(&walk->relatives, thread);
		if (other != NONE) {
			walk->chain->nr_links[CHAIN_BY_BIRTH] += !stretch;
			thread = other;
			nr_links++;
			continue;
		}
		if (!stretch) {
			add_unknown(walk, thread, time_ns, time_ns - from_ns);
			return;
		}
		if (stretch->end_ns < time_ns) {
			begin_ns = max_u64(stretch->end_ns, from_ns);
			add_unknown(walk, thread, time_ns, time_ns - begin_ns);
		} else {
			begin_ns = max_u64(stretch->begin_ns, from_ns);
			add(walk, thread, stretch, time_ns, time_ns - begin_ns);
		}
		time_ns = begin_ns;
		nr_links = 0;
	}
}

/* --- the whole --- */

static void follow_calls(struct walk *walk)
{
	const struct selection *selection = walk->chain->selection;
	const struct slow_calls *calls = selection->slow.calls;

	for (uint32_t thread = 0; thread < walk->profile->nr_threads; thread++) {
		const struct time_range *range;
		uint64_t done_ns = 0; /* in a damaged file calls overlap */

		if (!selection->threads[thread])
			continue;
		range = selection_range(selection, (struct thread_id){thread});
		for (size_t i = calls->first_of_thread[thread];
		     i < calls->first_of_thread[thread + 1]; i++) {
			uint64_t from_ns = max_u64(calls->at[i].from_ns, range->from_ns);
			uint64_t to_ns = min_u64(calls->at[i].to_ns, range->to_ns);

			walk->chain->nr_calls += from_ns < to_ns;
			follow(walk, thread, max_u64(from_ns, done_ns), to_ns);
			done_ns = max_u64(done_ns, to_ns);
		}
	}
}

/* The first selected thread. If its process executes other programs, the last of these counts. */
static void follow_thread(struct walk *walk)
{
	const struct selection *selection = walk->chain->selection;
	const struct courses *courses = walk->courses;
	uint32_t thread = NONE;

	for (uint32_t i = 0; i < walk->profile->nr_threads; i++) {
		const struct profile_thread *row = &walk->profile->threads[i];

		if (!selection->threads[i] || courses->firsts[i] == courses->firsts[i + 1])
			continue;
		if (thread == NONE ||
		    (row->tid == walk->profile->threads[thread].tid &&
		     walk->relatives.first_rows[row->process] ==
			     walk->relatives.first_rows[walk->profile->threads[thread].process]))
			thread = i;
	}
	walk->chain->thread = thread;
	if (thread != NONE) {
		const struct time_range *range =
			selection_range(selection, (struct thread_id){thread});

		follow(walk, thread, range->from_ns,
		       min_u64(range->to_ns,
			       courses->rows[courses->firsts[thread + 1] - 1].end_ns));
	}
}

static int compare_rows(const void *left, const void *right)
{
	const struct chain_row *a = left, *b = right;
	uint64_t a_ns = a->tally.weight, b_ns = b->tally.weight;

	if (a_ns != b_ns)
		return a_ns < b_ns ? 1 : -1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	return (a->label > b->label) - (a->label < b->label);
}

struct chain *chain_new(const struct selection *selection)
{
	struct chain *chain = xcalloc(1, sizeof(*chain));
	struct walk walk = {.chain = chain, .profile = selection->original->profile};

	chain->selection = selection;
	chain->thread = NONE;
	chain->objects.locks = blame_new(selection->original, true);
	chain->objects.descriptors = blame_new(selection->original, false);
	walk.courses = courses_new(walk.profile);
	walk.wait_functions = wait_functions_of_stacks(selection->original);
	find_sleep_ends(&walk);
	wake_rows_init(&walk.noted, walk.profile);
	relatives_init(&walk.relatives, walk.profile);
	if (selection->slow.calls)
		follow_calls(&walk);
	else
		follow_thread(&walk);
	blame_finish(chain->objects.locks);
	blame_finish(chain->objects.descriptors);
	if (chain->nr)
		qsort(chain->rows, chain->nr, sizeof(*chain->rows), compare_rows);
	index_set_release(&walk.rows);
	free(walk.sleep_ends);
	free(walk.wait_functions);
	relatives_release(&walk.relatives);
	wake_rows_release(&walk.noted);
	courses_free(walk.courses);
	return chain;
}

void chain_free(struct chain *chain)
{
	if (!chain)
		return;
	blame_free(chain->objects.locks);
	blame_free(chain->objects.descriptors);
	free(chain->rows);
	free(chain->parts);
	free(chain);
}
