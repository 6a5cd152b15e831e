// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums the selected samples by stack. */
#include "calltree/weights.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/observe.h"

/* The tally of a stack that ended so; its table is made when first needed. */
static struct tally *stack_tally(struct weights *weights, const struct sample *sample)
{
	const struct profile *profile = weights->selection->expansion->profile;
	struct tally **table = &weights->by_stack[sample->end];

	if (!*table)
		*table = xcalloc(stack_trie_nr(profile->stacks), sizeof(**table));
	return &(*table)[sample->stack.v];
}

static struct tally *tally_of(struct weights *weights, const struct sample *sample)
{
	if (sample->kind == SAMPLE_UNATTRIBUTED)
		return &weights->unattributed;
	if (sample->stack.v == STACK_EMPTY.v)
		return &weights->no_stack;
	return stack_tally(weights, sample);
}

static void sum_ends(struct weights *weights)
{
	const struct profile *profile = weights->selection->expansion->profile;
	uint32_t nr_stacks = stack_trie_nr(profile->stacks);

	for (int end = 0; end < STACK_END_COUNT; end++) {
		if (!weights->by_stack[end])
			continue;
		for (uint32_t i = 0; i < nr_stacks; i++)
			tally_add(&weights->ended[end], &weights->by_stack[end][i]);
		tally_add(&weights->total, &weights->ended[end]);
		if (end == STACK_END_DEPTH_LIMIT)
			tally_add(&weights->elided, &weights->ended[end]);
		else if (end != STACK_END_ROOT)
			tally_add(&weights->truncated, &weights->ended[end]);
	}
	tally_add(&weights->total, &weights->unattributed);
	tally_add(&weights->total, &weights->no_stack);
}

static void sum_samples(struct weights *weights)
{
	uint64_t period_ns = profile_period_ns(weights->selection->expansion->profile);
	struct selection_walk walk;
	struct sample sample;

	selection_walk_init(&walk, weights->selection);
	while (selection_walk_next(&walk, &sample))
		tally_add_sample(tally_of(weights, &sample), &sample, weights->metric, period_ns);
	selection_walk_release(&walk);
}

static void sum_blocks(struct weights *weights)
{
	struct observation_walk walk;
	struct observation observation;

	observation_walk_init(&walk, weights->selection, weights->metric);
	weights->at_ns = walk.at_ns;
	while (observation_walk_next(&walk, &observation))
		tally_add_observation(tally_of(weights, &observation.sample), &observation);
	weights->unknown = walk.unknown;
	observation_walk_release(&walk);
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
	if (metric_is_memory(metric))
		sum_blocks(weights);
	else
		sum_samples(weights);
	sum_ends(weights);
	return weights;
}

void weights_free(struct weights *weights)
{
	if (!weights)
		return;
	counts_free(weights->counts);
	for (int end = 0; end < STACK_END_COUNT; end++)
		free(weights->by_stack[end]);
	free(weights);
}

struct tally *weights_sum_by_stack(const struct weights *weights)
{
	const struct profile *profile = weights->selection->expansion->profile;
	uint32_t nr_stacks = stack_trie_nr(profile->stacks);
	struct tally *sum = xcalloc(nr_stacks, sizeof(*sum));

	for (int end = 0; end < STACK_END_COUNT; end++) {
		if (!weights->by_stack[end])
			continue;
		for (uint32_t i = 0; i < nr_stacks; i++)
			tally_add(&sum[i], &weights->by_stack[end][i]);
	}
	return sum;
}
