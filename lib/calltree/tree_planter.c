// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes the nodes of trees, adds them up and links them. */
#include "calltree/tree_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"

void planter_init(struct planter *planter, const struct weights *weights,
		  const struct tree_request *request)
{
	struct tree *tree = xcalloc(1, sizeof(*tree));

	tree->weights = weights;
	tree->is_folded = request->is_folded;
	ARRAY_GROW(tree->nodes, tree->nr, tree->cap);
	tree->nodes[tree->nr++] = (struct tree_node){.label = TREE_NO_LABEL};
	*planter = (struct planter){.tree = tree,
				    .expansion = weights->selection->expansion,
				    .has_faults = request->has_faults};
}

uint32_t planter_child(struct planter *planter, uint32_t parent, uint32_t label, bool inlined)
{
	struct tree *tree = planter->tree;
	uint32_t id;

	if (tree->is_folded && tree->nodes[parent].label == label)
		id = parent;
	else
		id = child_index_find(&planter->nodes, parent, label);
	if (id != INDEX_NONE) {
		tree->nodes[id].inlined = tree->nodes[id].inlined && inlined;
		return id;
	}
	id = (uint32_t)tree->nr;
	ARRAY_GROW(tree->nodes, tree->nr, tree->cap);
	tree->nodes[tree->nr++] = (struct tree_node){
		.parent = parent, .label = label, .inlined = inlined, .repeats = 1};
	child_index_add(&planter->nodes, parent, label, id);
	return id;
}

void planter_go(struct planter *planter, struct tree_way *way, const struct level *level)
{
	uint32_t node = planter_child(planter, way->node, level->label, level->inlined);
	struct tree_node *row = &planter->tree->nodes[node];

	way->repeats = node == way->node ? way->repeats + 1 : 1;
	way->node = node;
	if (row->repeats < way->repeats)
		row->repeats = way->repeats;
}

static int heavier_first(const void *a, const void *b, void *context)
{
	const struct tree *tree = context;
	const struct tree_node *left = &tree->nodes[*(const uint32_t *)a];
	const struct tree_node *right = &tree->nodes[*(const uint32_t *)b];

	if (left->total.weight != right->total.weight)
		return left->total.weight < right->total.weight ? 1 : -1;
	if (left->calls != right->calls)
		return left->calls < right->calls ? 1 : -1;
	return left->label < right->label ? -1 : left->label > right->label;
}

static bool is_linked(const struct tree_node *node)
{
	return node->total.weight > 0 || node->unsampled;
}

/*
 * The nodes with weight or counts in one list, siblings adjacent; begins[id] … begins[id + 1] are
 * the children of id. This is a counting sort in two passes: most nodes have one child, and sorting
 * all would be the greatest cost of a tree.
 */
static void group_siblings(const struct tree *tree, uint32_t *begins, uint32_t *list)
{
	for (uint32_t id = 1; id < tree->nr; id++)
		if (is_linked(&tree->nodes[id]))
			begins[tree->nodes[id].parent + 2]++;
	for (size_t i = 2; i < tree->nr + 2; i++)
		begins[i] += begins[i - 1];
	/*
	 * begins[p + 1] advances from the first place of p's children to the one after their last.
	 */
	for (uint32_t id = 1; id < tree->nr; id++)
		if (is_linked(&tree->nodes[id]))
			list[begins[tree->nodes[id].parent + 1]++] = id;
}

/* Link the children of every node, heaviest first. */
static void link_children(struct tree *tree)
{
	cleanup_free uint32_t *begins = xcalloc(tree->nr + 2, sizeof(*begins));
	cleanup_free uint32_t *list = xmalloc(tree->nr * sizeof(*list));

	group_siblings(tree, begins, list);
	for (uint32_t id = 0; id < tree->nr; id++) {
		uint32_t *children = list + begins[id], nr = begins[id + 1] - begins[id];

		if (nr > 1)
			qsort_r(children, nr, sizeof(*children), heavier_first, tree);
		if (nr > 0)
			tree->nodes[id].first_child = children[0];
		for (uint32_t i = 1; i < nr; i++)
			tree->nodes[children[i - 1]].next_sibling = children[i];
	}
}

struct tree *planter_finish(struct planter *planter)
{
	struct tree *tree = planter->tree;

	child_index_release(&planter->nodes);
	for (uint32_t i = 0; i < tree->nr; i++)
		tree->nodes[i].total = tree->nodes[i].self;
	for (size_t i = tree->nr - 1; i > 0; i--)
		tally_add(&tree->nodes[tree->nodes[i].parent].total, &tree->nodes[i].total);
	link_children(tree);
	return tree;
}
