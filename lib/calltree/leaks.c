// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums what was not freed, by stack. */
#include "calltree/leaks.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/observe.h"

/* Where the rows of stacks are, counted from 1, by how the walk ended and by stack; or NULL. */
struct finder {
	uint32_t *rows[STACK_END_COUNT];
};

static const struct profile *profile_of(const struct leaks *leaks)
{
	return leaks->selection->expansion->profile;
}

/*
 * From its first allocation, however often realloc() has moved it, to the end of its life as far as
 * it is known: that of its process, or of the recording.
 */
static uint64_t age_of(const struct heap_lives *lives, const struct observation *observation)
{
	const struct profile *profile = lives->profile;
	struct heap_life life = heap_life_of(lives, observation->row);
	uint32_t process = profile->threads[observation->sample.thread.v].process;
	uint64_t end_ns = profile->processes[process].end_ns;

	if (!end_ns)
		end_ns = profile->meta.duration_ns;
	return end_ns > life.born_ns ? end_ns - life.born_ns : 0;
}

/* By how much a block has grown since: realloc() takes away what there was, and adds anew. */
static uint64_t growth_since(const struct heap_lives *lives, const struct observation *observation,
			     uint64_t since_ns)
{
	const struct profile_allocation *rows = lives->profile->heap.allocations;
	const struct profile_allocation *row = &rows[observation->row], *then = row;
	/* Files that somebody made up may have several ends of one block: only one goes all the
	 * way. */
	bool is_end = lives->last[lives->first[observation->row]] == observation->row;

	while (is_end && then->time_ns > since_ns && then->former && then->former != FORMER_UNKNOWN)
		then = &rows[then->former - 1];
	if (then->time_ns > since_ns)
		return observation->weight;
	if (then->size_bytes >= row->size_bytes)
		return 0;
	return (uint64_t)((double)observation->weight *
			  (1 - (double)then->size_bytes / (double)row->size_bytes));
}

static struct leak *row_of(struct leaks *leaks, struct finder *finder, const struct sample *sample)
{
	uint32_t **rows = &finder->rows[sample->end];
	uint32_t *row;

	if (!*rows)
		*rows = xcalloc(stack_trie_nr(profile_of(leaks)->stacks), sizeof(**rows));
	row = &(*rows)[sample->stack.v];
	if (!*row) {
		ARRAY_GROW(leaks->rows, leaks->nr, leaks->cap);
		leaks->rows[leaks->nr++] = (struct leak){.sample = *sample};
		*row = (uint32_t)leaks->nr;
	}
	return &leaks->rows[*row - 1];
}

static void add(struct leaks *leaks, struct leak *leak, const struct observation *observation,
		const struct heap_lives *lives, uint64_t age_ns)
{
	tally_add_observation(&leak->tally, observation);
	leak->oldest_ns = max_u64(leak->oldest_ns, age_ns);
	leak->late_bytes += growth_since(lives, observation, leaks->late_from_ns);
}

static int heavier_first(const void *left, const void *right)
{
	const struct leak *a = left;
	const struct leak *b = right;

	if (a->tally.weight != b->tally.weight)
		return a->tally.weight < b->tally.weight ? 1 : -1;
	if (a->sample.stack.v != b->sample.stack.v)
		return a->sample.stack.v > b->sample.stack.v ? 1 : -1;
	return (a->sample.end > b->sample.end) - (a->sample.end < b->sample.end);
}

struct leaks *leaks_new(const struct selection *selection, uint64_t min_age_ns)
{
	uint64_t duration_ns = selection->expansion->profile->meta.duration_ns;
	struct leaks *leaks = xcalloc(1, sizeof(*leaks));
	struct finder finder = {0};
	struct observation_walk walk;
	struct observation observation;

	leaks->selection = selection;
	leaks->late_from_ns = duration_ns / 2;
	leaks->late_ns = duration_ns - leaks->late_from_ns;
	observation_walk_init(&walk, selection, METRIC_LEAKED);
	while (observation_walk_next(&walk, &observation)) {
		uint64_t age_ns = age_of(&walk.lives, &observation);

		if (age_ns >= min_age_ns && observation.weight)
			add(leaks, row_of(leaks, &finder, &observation.sample), &observation,
			    &walk.lives, age_ns);
	}
	observation_walk_release(&walk);
	for (int end = 0; end < STACK_END_COUNT; end++)
		free(finder.rows[end]);
	for (size_t i = 0; i < leaks->nr; i++)
		tally_add(&leaks->total, &leaks->rows[i].tally);
	if (leaks->nr)
		qsort(leaks->rows, leaks->nr, sizeof(*leaks->rows), heavier_first);
	return leaks;
}

void leaks_free(struct leaks *leaks)
{
	if (!leaks)
		return;
	free(leaks->rows);
	free(leaks);
}

double leak_growth(const struct leaks *leaks, const struct leak *leak)
{
	if (!leaks->late_ns)
		return 0;
	return (double)leak->late_bytes * (double)NS_PER_SEC / (double)leaks->late_ns;
}

bool leaks_are_exact(const struct leaks *leaks)
{
	return leaks->total.known == leaks->total.weight && leaks->total.square == 0;
}
