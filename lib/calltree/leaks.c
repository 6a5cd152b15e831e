// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums what was not freed, by stack. */
#include "calltree/leaks.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
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

/* The end of a block's life as far as it is known: that of its process, or of the recording. */
static uint64_t age_of(const struct leaks *leaks, const struct sample *sample)
{
	const struct profile *profile = profile_of(leaks);
	uint64_t end_ns = profile->processes[profile->threads[sample->thread.v].process].end_ns;

	if (!end_ns)
		end_ns = profile->meta.duration_ns;
	return end_ns > sample->time_ns ? end_ns - sample->time_ns : 0;
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

static void add(struct leaks *leaks, struct leak *leak, const struct observation *observation)
{
	uint64_t age_ns = age_of(leaks, &observation->sample);

	tally_add_observation(&leak->tally, observation);
	if (age_ns > leak->oldest_ns)
		leak->oldest_ns = age_ns;
	if (observation->sample.time_ns > leaks->late_from_ns)
		leak->late_bytes += observation->weight;
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
		if (age_of(leaks, &observation.sample) >= min_age_ns && observation.weight)
			add(leaks, row_of(leaks, &finder, &observation.sample), &observation);
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
