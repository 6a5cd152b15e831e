// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples by address and function, for annotated instructions. */
#include "calltree/code.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"

/* A sampled address and the function in memory it lies in. */
struct spot {
	uint32_t label;
	struct code_cost cost;
};

/* Self by frame_id. The caller frees it. */
static struct tally *self_by_frame(const struct weights *weights)
{
	const struct profile *profile = weights->selection->expansion->profile;
	struct tally *frames = xcalloc(profile->nr_frames, sizeof(*frames));
	struct stack_weight sum;

	for (size_t next = 0; weights_next_stack(weights, &next, &sum);)
		tally_add(&frames[stack_trie_frame(profile->stacks, sum.stack).v], &sum.tally);
	return frames;
}

static bool is_wanted(const struct expansion *expansion, struct frame_levels levels,
		      const bool *wanted)
{
	for (uint32_t i = 0; wanted && i < levels.nr; i++)
		if (wanted[expansion->levels[levels.first + i].label])
			return true;
	return !wanted;
}

/* The labels that contain code of a wanted function. The caller frees the array. */
static bool *choose_labels(const struct expansion *expansion, const struct tally *frames,
			   const bool *wanted)
{
	bool *chosen = xcalloc(expansion->nr_labels, sizeof(*chosen));

	for (size_t i = 0; i < expansion->profile->nr_frames; i++) {
		struct frame_levels levels = expansion->frames[i];
		uint32_t label = expansion->levels[levels.first].label;

		if (frames[i].weight > 0 && label_is_code(expansion, label) &&
		    is_wanted(expansion, levels, wanted))
			chosen[label] = true;
	}
	return chosen;
}

static int by_label_and_address(const void *a, const void *b)
{
	const struct spot *left = a, *right = b;

	if (left->label != right->label)
		return left->label < right->label ? -1 : 1;
	if (left->cost.address != right->cost.address)
		return left->cost.address < right->cost.address ? -1 : 1;
	return 0;
}

/* By module: the label for all its addresses without a label; the caller frees the array. */
static uint32_t *nameless_labels(const struct expansion *expansion)
{
	uint32_t nr = module_table_nr(expansion->profile->modules);
	uint32_t *labels = xcalloc(nr, sizeof(*labels));

	for (uint32_t i = (uint32_t)expansion->nr_labels; i-- > 0;)
		if (expansion->labels[i].kind == LABEL_ADDRESS)
			labels[expansion->labels[i].module.v] = i;
	return labels;
}

/* All sampled addresses of the chosen functions, in the order of functions and addresses. */
static struct spot *find_spots(const struct expansion *expansion, const struct tally *frames,
			       const bool *chosen, size_t *nr)
{
	const struct profile *profile = expansion->profile;
	struct spot *spots = xmalloc(profile->nr_frames * sizeof(*spots));
	cleanup_free uint32_t *nameless = nameless_labels(expansion);

	*nr = 0;
	for (size_t i = 0; i < profile->nr_frames; i++) {
		uint32_t label = expansion->levels[expansion->frames[i].first].label;

		if (frames[i].weight == 0 || !chosen[label])
			continue;
		if (expansion->labels[label].kind == LABEL_ADDRESS)
			label = nameless[expansion->labels[label].module.v];
		spots[(*nr)++] = (struct spot){
			.label = label,
			.cost = {.address = profile->frames[i].where.address, .self = frames[i]}};
	}
	qsort(spots, *nr, sizeof(*spots), by_label_and_address);
	return spots;
}

static void append_spot(struct codes *codes, const struct spot *spot)
{
	struct code *code = codes->nr ? &codes->codes[codes->nr - 1] : NULL;

	if (!code || code->label != spot->label) {
		ARRAY_GROW(codes->codes, codes->nr, codes->cap);
		code = &codes->codes[codes->nr++];
		*code = (struct code){.label = spot->label,
				      .first_cost = (uint32_t)codes->nr_costs};
	}
	tally_add(&code->self, &spot->cost.self);
	code->nr_costs++;
	ARRAY_GROW(codes->costs, codes->nr_costs, codes->cap_costs);
	codes->costs[codes->nr_costs++] = spot->cost;
}

static int hottest_first(const void *a, const void *b)
{
	const struct code *left = a, *right = b;

	if (left->self.weight != right->self.weight)
		return left->self.weight > right->self.weight ? -1 : 1;
	return left->label < right->label ? -1 : left->label > right->label;
}

struct codes *codes_new(const struct weights *weights, const bool *wanted)
{
	const struct expansion *expansion = weights->selection->expansion;
	struct codes *codes = xcalloc(1, sizeof(*codes));
	cleanup_free struct tally *frames = self_by_frame(weights);
	cleanup_free bool *chosen = choose_labels(expansion, frames, wanted);
	size_t nr;
	cleanup_free struct spot *spots = find_spots(expansion, frames, chosen, &nr);

	codes->weights = weights;
	for (size_t i = 0; i < nr; i++)
		append_spot(codes, &spots[i]);
	if (codes->nr > 0)
		qsort(codes->codes, codes->nr, sizeof(*codes->codes), hottest_first);
	return codes;
}

void codes_free(struct codes *codes)
{
	if (!codes)
		return;
	free(codes->codes);
	free(codes->costs);
	free(codes);
}
