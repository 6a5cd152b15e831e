// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks call trees line by line. */
#include "view/tree_walk.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/tree.h"
#include "calltree/weights.h"

static const struct tree_node *child_of(const struct tree_walk *walk, const struct tree_node *node)
{
	return node->first_child ? &walk->tree->nodes[node->first_child] : NULL;
}

static const struct tree_node *next_of(const struct tree_walk *walk, const struct tree_node *node)
{
	return node->next_sibling ? &walk->tree->nodes[node->next_sibling] : NULL;
}

static bool is_large(const struct tree_walk *walk, const struct tally *total)
{
	return tally_percent(total, &walk->tree->weights->total) >= walk->limits->min_percent;
}

static bool has_line(const struct tree_walk *walk, const struct tree_node *node, uint32_t depth)
{
	if (walk->limits->max_depth && depth > walk->limits->max_depth)
		return false;
	return node->unsampled ? walk->limits->calls : is_large(walk, &node->total);
}

static void push(struct tree_walk *walk, const struct tree_walk_line *line)
{
	ARRAY_GROW(walk->pending, walk->nr_pending, walk->cap_pending);
	walk->pending[walk->nr_pending++] = *line;
}

/* The children of a node that get no line, as one; nr_rest is 0 if there are none. */
static struct tree_walk_line sum_rest(const struct tree_walk *walk, const struct tree_node *parent,
				      uint32_t depth)
{
	struct tree_walk_line rest = {.node = parent, .depth = depth};

	for (const struct tree_node *at = child_of(walk, parent); at; at = next_of(walk, at)) {
		if (has_line(walk, at, depth) || (at->unsampled && !walk->limits->calls))
			continue;
		rest.nr_rest++;
		tally_add(&rest.total, &at->total);
	}
	if (!is_large(walk, &rest.total))
		rest.nr_rest = 0;
	return rest;
}

static void reverse(struct tree_walk_line *lines, size_t nr)
{
	for (size_t low = 0, high = nr; low + 1 < high;) {
		struct tree_walk_line swapped = lines[--high];

		lines[high] = lines[low];
		lines[low++] = swapped;
	}
}

/* Put the lines below a node on the stack, the first on top. */
static void push_children(struct tree_walk *walk, const struct tree_node *parent, uint32_t depth,
			  uint32_t branches)
{
	const struct tree_walk_line rest = sum_rest(walk, parent, depth);
	size_t base = walk->nr_pending;
	bool opens;

	for (const struct tree_node *at = child_of(walk, parent); at; at = next_of(walk, at))
		if (has_line(walk, at, depth))
			push(walk, &(struct tree_walk_line){.node = at,
							    .self = at->self,
							    .total = at->total,
							    .depth = depth});
	if (rest.nr_rest)
		push(walk, &rest);
	if (walk->nr_pending == base)
		return;
	opens = walk->nr_pending - base > 1;
	for (size_t i = base; i < walk->nr_pending; i++) {
		walk->pending[i].opens = opens;
		walk->pending[i].branches = branches + opens;
	}
	walk->pending[walk->nr_pending - 1].last = true;
	reverse(&walk->pending[base], walk->nr_pending - base);
}

void tree_walk_begin(struct tree_walk *walk, const struct tree *tree,
		     const struct tree_limits *limits)
{
	*walk = (struct tree_walk){.tree = tree, .limits = limits};
	push_children(walk, &tree->nodes[TREE_ROOT], 1, 0);
}

bool tree_walk_next(struct tree_walk *walk, struct tree_walk_line *line)
{
	if (walk->nr_pending == 0)
		return false;
	*line = walk->pending[--walk->nr_pending];
	if (!line->nr_rest)
		push_children(walk, line->node, line->depth + 1, line->branches);
	return true;
}

void tree_walk_end(struct tree_walk *walk)
{
	free(walk->pending);
	*walk = (struct tree_walk){0};
}
