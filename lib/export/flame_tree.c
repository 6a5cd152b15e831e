// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree of functions that a flame graph draws. */
#include "export/flame_tree_priv.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "export/extract_priv.h"
#include "export/path_sums_priv.h"

/* A node while the tree grows: index is its id in the trie, where parents come first. */
struct growing {
	uint32_t id, parent;
	uint64_t self, total;
	size_t first_child, nr_children; /* in the order sorted by by_parent() */
};

struct grower {
	const struct extract *extract;
	struct stack_trie *trie; /* lanes, then labels */
	struct growing *nodes;	 /* by trie id */
	size_t nr_nodes, cap_nodes;
	struct path_nodes path; /* scratch: labels */
};

static void add_self(struct grower *grower, struct stack_id id, uint64_t weight)
{
	size_t nr = stack_trie_nr(grower->trie);

	assert(id.v < nr);
	ARRAY_RESERVE(grower->nodes, nr, grower->cap_nodes);
	while (grower->nr_nodes < nr)
		grower->nodes[grower->nr_nodes++] = (struct growing){.self = 0};
	grower->nodes[id.v].self += weight;
}

static void add_path(struct grower *grower, struct stack_id lane, const struct path_sum *sum)
{
	struct path_nodes *path = &grower->path;
	struct stack_id node = lane;

	path_nodes_of(path, grower->extract->paths, sum->path);
	for (uint32_t i = 0; i < path->nr; i++)
		node = stack_trie_intern(grower->trie, node, (struct frame_id){path->nodes[i]});
	add_self(grower, node, sum->weight);
}

static void add_lanes(struct grower *grower)
{
	const struct extract *extract = grower->extract;
	uint32_t nr_labels = (uint32_t)extract->expansion->nr_labels;
	struct path_sums sums = {0};

	for (uint32_t i = 0; i < extract->nr_lanes; i++) {
		struct frame_id frame = {nr_labels + i};
		struct stack_id lane = stack_trie_intern(grower->trie, STACK_EMPTY, frame);

		path_sums_lane(&sums, extract, &extract->lanes[i]);
		for (size_t j = 0; j < sums.nr_sums; j++) {
			add_path(grower, lane, &sums.sums[j]);
			extract_passed(extract, &extract->lanes[i], j + 1, sums.nr_sums);
		}
	}
	path_sums_release(&sums);
}

/* Parents have smaller ids than their children. */
static void add_totals(struct grower *grower)
{
	for (uint32_t i = (uint32_t)grower->nr_nodes; i-- > 0;) {
		struct growing *node = &grower->nodes[i];

		node->id = i;
		node->parent = stack_trie_parent(grower->trie, (struct stack_id){i}).v;
		node->total += node->self;
		if (i)
			grower->nodes[node->parent].total += node->total;
	}
}

static int by_parent(const void *left, const void *right)
{
	const struct growing *a = *(const struct growing *const *)left;
	const struct growing *b = *(const struct growing *const *)right;

	if (a->parent != b->parent)
		return a->parent > b->parent ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return (a->id > b->id) - (a->id < b->id);
}

/* All nodes but the root, with siblings adjacent, heaviest first. */
static struct growing **sorted_children(struct grower *grower)
{
	struct growing **sorted = xcalloc(grower->nr_nodes, sizeof(struct growing *));
	size_t nr = grower->nr_nodes - 1;

	for (size_t i = 0; i < nr; i++)
		sorted[i] = &grower->nodes[i + 1];
	qsort(sorted, nr, sizeof(struct growing *), by_parent);
	for (size_t i = nr; i-- > 0;) {
		struct growing *parent = &grower->nodes[sorted[i]->parent];

		parent->first_child = i;
		parent->nr_children++;
	}
	return sorted;
}

static void add_flame(struct flame_tree *tree, const struct grower *grower,
		      const struct growing *node, uint32_t depth)
{
	struct stack_id id = {node->id};

	tree->nodes[tree->nr_nodes++] = (struct flame){
		.label = node->id ? stack_trie_frame(grower->trie, id).v : FLAME_ALL,
		.depth = depth,
		.self = node->self,
		.total = node->total,
	};
}

/* Depth first, with an explicit list of nodes to visit: stacks may be very deep. */
static void flatten(struct flame_tree *tree, const struct grower *grower,
		    struct growing *const *sorted)
{
	const struct growing **todo = xcalloc(grower->nr_nodes, sizeof(struct growing *));
	uint32_t top_depth = grower->extract->nr_lanes == 1 ? 1 : 0;
	size_t nr = 0;

	todo[nr++] = top_depth ? sorted[grower->nodes[0].first_child] : &grower->nodes[0];
	while (nr) {
		const struct growing *node = todo[--nr];
		uint32_t depth = stack_trie_depth(grower->trie, (struct stack_id){node->id});

		add_flame(tree, grower, node, depth - top_depth);
		for (size_t i = node->nr_children; i-- > 0;)
			todo[nr++] = sorted[node->first_child + i];
	}
	free(todo);
}

void flame_tree_init(struct flame_tree *tree, const struct extract *extract)
{
	struct grower grower = {.extract = extract, .trie = stack_trie_new()};
	struct growing **sorted;

	add_lanes(&grower);
	add_totals(&grower);
	sorted = sorted_children(&grower);
	*tree = (struct flame_tree){.nodes = xcalloc(grower.nr_nodes, sizeof(*tree->nodes))};
	flatten(tree, &grower, sorted);
	free(sorted);
	free(grower.nodes);
	path_nodes_release(&grower.path);
	stack_trie_free(grower.trie);
}

void flame_tree_release(struct flame_tree *tree)
{
	free(tree->nodes);
	*tree = (struct flame_tree){.nodes = NULL};
}

void flame_append_name(struct buf *out, const struct extract *extract, uint32_t label)
{
	size_t nr_labels = extract->expansion->nr_labels;

	if (label == FLAME_ALL)
		buf_append_str(out, "all");
	else if (label >= nr_labels)
		extract_append_lane_name(out, extract, &extract->lanes[label - nr_labels]);
	else
		buf_append_str(out, extract_name(extract, label));
}

void flame_append_full_name(struct buf *out, const struct extract *extract, uint32_t label)
{
	if (label < extract->expansion->nr_labels)
		label_append_name(out, extract->expansion, label, NAME_FULL);
	else
		flame_append_name(out, extract, label);
}
