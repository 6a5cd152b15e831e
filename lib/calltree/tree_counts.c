// SPDX-License-Identifier: GPL-2.0-or-later
/* Exact counts in call trees. */
#include "calltree/tree_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"

static uint32_t label_at(const struct tree *tree, uint32_t node)
{
	return tree->nodes[node].label;
}

static uint32_t plant_unsampled(struct planter *planter, uint32_t parent, uint32_t label)
{
	size_t nr = planter->tree->nr;
	uint32_t node = planter_child(planter, parent, label, true);

	if (planter->tree->nr > nr) {
		planter->tree->nodes[node].unsampled = true;
		planter->tree->nodes[node].inlined = false;
	}
	return node;
}

/* Add the callees below a function. */
static void plant_callees(struct planter *planter, uint32_t node)
{
	const struct counts *counts = planter->tree->weights->counts;
	uint32_t caller = label_at(planter->tree, node);

	for (size_t i = counts_first_edge(counts, caller);
	     i < counts->nr_edges && counts->edges[i].caller == caller; i++) {
		uint32_t callee = counts->edges[i].callee;

		if (callee == COUNTS_NO_LABEL)
			callee = planter->expansion->indirect.label;
		plant_unsampled(planter, node, callee);
	}
}

/*
 * Counted functions that match get a node even without samples; in caller trees, with their
 * callers.
 */
static void plant_wanted(struct planter *planter, const bool *wanted)
{
	const struct counts *counts = planter->tree->weights->counts;

	for (uint32_t i = 0; i < planter->expansion->nr_labels; i++)
		if (wanted[i] && counts->functions[i].counted)
			plant_unsampled(planter, TREE_ROOT, i);
	for (size_t i = 0; i < counts->nr_edges; i++) {
		const struct count_edge *edge = &counts->edges[i];
		bool of_callers = planter->tree->of_callers;
		uint32_t label = of_callers ? edge->callee : edge->caller;
		uint32_t node;

		if (label == COUNTS_NO_LABEL || !wanted[label])
			continue;
		node = plant_unsampled(planter, TREE_ROOT, label);
		if (of_callers)
			plant_unsampled(planter, node, edge->caller);
	}
}

/* By label: the number of its places in the tree, and of those where it is not inlined. */
struct places {
	uint32_t *any, *called;
};

static void places_init(struct places *places, const struct planter *planter)
{
	const struct tree *tree = planter->tree;

	places->any = xcalloc(planter->expansion->nr_labels, sizeof(*places->any));
	places->called = xcalloc(planter->expansion->nr_labels, sizeof(*places->called));
	for (uint32_t i = 1; i < tree->nr; i++) {
		places->any[label_at(tree, i)]++;
		places->called[label_at(tree, i)] += !tree->nodes[i].inlined;
	}
}

static void places_release(struct places *places)
{
	free(places->any);
	free(places->called);
}

static void plant_unsampled_calls(struct planter *planter, const bool *wanted)
{
	struct places places;
	uint32_t nr;

	places_init(&places, planter);
	if (wanted)
		plant_wanted(planter, wanted);
	/* With several places, the place that made the calls is unknown. */
	nr = planter->tree->of_callers ? 0 : (uint32_t)planter->tree->nr;
	for (uint32_t i = 1; i < nr; i++) {
		bool is_wanted = wanted && planter->tree->nodes[i].parent == TREE_ROOT;

		if (is_wanted || places.any[label_at(planter->tree, i)] == 1)
			plant_callees(planter, i);
	}
	places_release(&places);
}

static uint32_t plant_without_samples(struct planter *planter, uint32_t label)
{
	uint32_t top = plant_unsampled(planter, TREE_ROOT, planter->expansion->unsampled.label);

	return plant_unsampled(planter, top, label);
}

/*
 * Add counted functions that have no node yet: callers with their callees, then called functions.
 */
static void plant_rest(struct planter *planter)
{
	const struct counts *counts = planter->tree->weights->counts;
	struct places places;

	places_init(&places, planter);
	for (size_t i = 0; i < counts->nr_edges; i++) {
		uint32_t caller = counts->edges[i].caller;

		if (places.any[caller]++ == 0)
			plant_callees(planter, plant_without_samples(planter, caller));
	}
	places_release(&places);
	places_init(&places, planter);
	for (uint32_t i = 0; i < planter->expansion->nr_labels; i++)
		if (counts->functions[i].calls > 0 && places.any[i] == 0)
			plant_without_samples(planter, i);
	places_release(&places);
}

/* The callee as counts identify it. */
static uint32_t callee_of(const struct tree *tree, const struct tree_node *node)
{
	const struct expansion *expansion = tree->weights->selection->expansion;

	return node->label == expansion->indirect.label ? COUNTS_NO_LABEL : node->label;
}

/* In a folded tree the count of a node includes the function's calls of itself. */
static uint64_t calls_of_itself(const struct tree *tree, const struct tree_node *node)
{
	uint64_t calls = 0;

	if (tree->is_folded)
		counts_find_edge(tree->weights->counts, node->label, node->label, &calls);
	return calls;
}

/*
 * Set the calls by the parent, or else all calls of the function. One count covers all places in
 * the tree where the function calls, or is called.
 */
static void count_nodes(struct tree *tree, const struct places *places, bool of_callees)
{
	const struct counts *counts = tree->weights->counts;

	for (uint32_t i = 1; i < tree->nr; i++) {
		struct tree_node *node = &tree->nodes[i];
		const struct tree_node *parent = &tree->nodes[node->parent];
		bool is_top = node->parent == TREE_ROOT;

		if (node->inlined)
			continue;
		node->counted = !is_top && counts_find_edge(counts, parent->label,
							    callee_of(tree, node), &node->calls);
		if (node->counted) {
			uint64_t own = calls_of_itself(tree, node);

			node->calls += own;
			node->shared = places->any[parent->label] > 1 ||
				       (own && places->any[node->label] > 1) ||
				       (of_callees && parent->parent != TREE_ROOT);
			continue;
		}
		node->counted = counts_find_function(counts, node->label, &node->calls);
		node->shared = places->called[node->label] > 1 || (of_callees && !is_top);
	}
}

static void count_callers(struct tree *tree)
{
	const struct counts *counts = tree->weights->counts;

	for (uint32_t i = 1; i < tree->nr; i++) {
		struct tree_node *node = &tree->nodes[i];
		const struct tree_node *parent = &tree->nodes[node->parent];

		if (node->parent == TREE_ROOT)
			node->counted = counts_find_function(counts, node->label, &node->calls);
		else if (parent->parent == TREE_ROOT)
			node->counted =
				counts_find_edge(counts, node->label, parent->label, &node->calls);
	}
}

void tree_count_calls(struct planter *planter, const bool *wanted)
{
	struct places places;

	if (planter->tree->weights->counts->state != COUNTS_KNOWN)
		return;
	plant_unsampled_calls(planter, wanted);
	if (!wanted)
		plant_rest(planter);
	places_init(&places, planter);
	if (planter->tree->of_callers)
		count_callers(planter->tree);
	else
		count_nodes(planter->tree, &places, wanted != NULL);
	places_release(&places);
}
