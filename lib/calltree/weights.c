// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums the selected samples by stack. */
#include "calltree/weights.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/observe.h"
#include "profile/cpu_modes.h"

#define NR_KINDS (2 * STACK_END_COUNT)

/* Sums in the making: most stacks of a profile are only callers of others, and have none. */
struct sums {
	struct weights *weights;
	struct stack_weight *rows; /* in order of first occurrence */
	size_t nr, cap;
	/*
	 * By the end of the walk and whether it is of a page fault, then by stack_id: the row + 1;
	 * NULL: there is none of the kind.
	 */
	uint32_t *row_of[NR_KINDS];
};

static uint32_t nr_all_stacks(const struct weights *weights)
{
	return stack_trie_nr(weights->selection->expansion->profile->stacks);
}

static struct tally *stack_tally(struct sums *sums, const struct sample *sample)
{
	bool is_fault = sample->syscall_nr == SAMPLE_PAGE_FAULT;
	uint32_t **table = &sums->row_of[2 * sample->end + is_fault], *row;

	if (!*table)
		*table = xcalloc(nr_all_stacks(sums->weights), sizeof(**table));
	row = &(*table)[sample->stack.v];
	if (!*row) {
		ARRAY_GROW(sums->rows, sums->nr, sums->cap);
		sums->rows[sums->nr] = (struct stack_weight){
			.stack = sample->stack, .end = sample->end, .is_fault = is_fault};
		*row = (uint32_t)++sums->nr;
	}
	return &sums->rows[*row - 1].tally;
}

static struct tally *tally_of(struct sums *sums, const struct sample *sample)
{
	if (sample->kind == SAMPLE_UNATTRIBUTED)
		return &sums->weights->unattributed;
	if (sample->stack.v == STACK_EMPTY.v)
		return &sums->weights->no_stack;
	return stack_tally(sums, sample);
}

/* Into the weights, by stack and end. */
static void order_rows(struct sums *sums)
{
	struct weights *weights = sums->weights;
	uint32_t nr = nr_all_stacks(weights), nr_kinds = 0;
	const uint32_t *row_of[NR_KINDS] = {0};

	for (int kind = 0; kind < NR_KINDS; kind++)
		if (sums->row_of[kind])
			row_of[nr_kinds++] = sums->row_of[kind];
	weights->stacks = xmalloc(sums->nr * sizeof(*weights->stacks));
	for (uint32_t id = 1; id < nr; id++)
		for (uint32_t i = 0; i < nr_kinds; i++)
			if (row_of[i][id])
				weights->stacks[weights->nr_stacks++] =
					sums->rows[row_of[i][id] - 1];
}

static void finish_sums(struct sums *sums)
{
	order_rows(sums);
	for (int kind = 0; kind < NR_KINDS; kind++)
		free(sums->row_of[kind]);
	free(sums->rows);
}

static void sum_ends(struct weights *weights)
{
	for (size_t i = 0; i < weights->nr_stacks; i++)
		tally_add(&weights->ended[weights->stacks[i].end], &weights->stacks[i].tally);
	for (int end = 0; end < STACK_END_COUNT; end++) {
		tally_add(&weights->total, &weights->ended[end]);
		if (end == STACK_END_DEPTH_LIMIT)
			tally_add(&weights->elided, &weights->ended[end]);
		else if (end != STACK_END_ROOT)
			tally_add(&weights->truncated, &weights->ended[end]);
	}
	tally_add(&weights->total, &weights->unattributed);
	tally_add(&weights->total, &weights->no_stack);
}

static bool same_places(const struct expansion *expansion, struct frame_id a, struct frame_id b)
{
	const struct frame_levels *first = &expansion->frames[a.v],
				  *second = &expansion->frames[b.v];

	if (a.v == b.v)
		return true;
	for (uint32_t i = 0; first->nr == second->nr; i++) {
		if (i == first->nr)
			return true;
		if (expansion->levels[first->first + i].place !=
		    expansion->levels[second->first + i].place)
			return false;
	}
	return false;
}

/*
 * Was it at the same lines of the same functions? Nothing that intervals are shown of divides
 * those. One that stands for several samples says nothing of what was between them.
 */
static bool stays(const struct expansion *expansion, const struct sample *before,
		  const struct sample *sample)
{
	const struct stack_trie *stacks = expansion->profile->stacks;
	struct stack_id a = before->stack, b = sample->stack;

	if (before->nr != 1 || sample->nr != 1 || before->time_ns >= sample->time_ns ||
	    before->end != sample->end || before->kind != sample->kind)
		return false;
	for (; a.v != b.v; a = stack_trie_parent(stacks, a), b = stack_trie_parent(stacks, b))
		if (a.v == STACK_EMPTY.v || b.v == STACK_EMPTY.v ||
		    !same_places(expansion, stack_trie_frame(stacks, a),
				 stack_trie_frame(stacks, b)))
			return false;
	return true;
}

static void sum_samples(struct weights *weights)
{
	struct sums sums = {.weights = weights};
	const struct expansion *expansion = weights->selection->expansion;
	cleanup_free struct sample *last_of =
		xcalloc(expansion->profile->nr_threads, sizeof(*last_of));
	struct selection_walk walk;
	struct sample sample;

	selection_walk_init(&walk, weights->selection);
	while (selection_walk_next(&walk, &sample)) {
		struct sample *last = &last_of[sample.thread.v];
		struct tally *tally;

		if (!sample_weight(&sample, weights->metric))
			continue;
		tally = tally_of(&sums, &sample);
		tally_add_sample(tally, &sample, weights->metric);
		if (weights->metric == METRIC_CPU)
			tally->system += (double)sample.cpu_ns *
					 sample_system_share(expansion->profile, &sample);
		if (stays(expansion, last, &sample))
			tally_join(tally, last, &sample, weights->metric);
		if (sample.nr)
			*last = sample;
	}
	selection_walk_release(&walk);
	finish_sums(&sums);
}

static void sum_observations(struct weights *weights)
{
	struct sums sums = {.weights = weights};
	struct observation_walk walk;
	struct observation observation;

	observation_walk_init(&walk, weights->selection, weights->metric);
	weights->at_ns = walk.at_ns;
	while (observation_walk_next(&walk, &observation))
		if (observation.weight || observation.blocks > 0)
			tally_add_observation(tally_of(&sums, &observation.sample), &observation);
	weights->unknown = walk.unknown;
	weights->total.fixed = observation_walk_fixed(&walk);
	weights->total.lost = observation_walk_lost(&walk);
	observation_walk_release(&walk);
	finish_sums(&sums);
}

struct weights *weights_new(const struct selection *selection, enum metric metric)
{
	return weights_new_since(selection, metric, NULL);
}

struct weights *weights_new_since(const struct selection *selection, enum metric metric,
				  const struct count_moment *since)
{
	struct weights *weights = xcalloc(1, sizeof(*weights));

	weights->selection = selection;
	weights->metric = metric;
	weights->counts = counts_new_since(selection, since);
	weights->at_ns = HEAP_AT_END;
	if (metric_is_of_samples(metric))
		sum_samples(weights);
	else
		sum_observations(weights);
	sum_ends(weights);
	return weights;
}

void weights_free(struct weights *weights)
{
	if (!weights)
		return;
	counts_free(weights->counts);
	free(weights->stacks);
	free(weights);
}

bool weights_next_stack(const struct weights *weights, size_t *next, struct stack_weight *sum)
{
	if (*next == weights->nr_stacks)
		return false;
	*sum = weights->stacks[(*next)++];
	while (*next < weights->nr_stacks && weights->stacks[*next].stack.v == sum->stack.v)
		tally_add(&sum->tally, &weights->stacks[(*next)++].tally);
	return true;
}
