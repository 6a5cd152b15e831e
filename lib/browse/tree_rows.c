// SPDX-License-Identifier: GPL-2.0-or-later
/* The visible rows of a tree, according to its open nodes. */
#include "browse/tree_rows.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/index_set.h"
#include "browse/opened.h"
#include "calltree/tally.h"
#include "calltree/tree.h"
#include "calltree/weights.h"

/* Mixed with the parent's key, this is the key of the row that sums up small children. */
#define KEY_OF_REST 1

struct gatherer {
	const struct tree_part *part;
	struct tree_rows *rows;
	struct tree_rows pending; /* the next on top */
};

void tree_rows_release(struct tree_rows *rows)
{
	free(rows->rows);
	*rows = (struct tree_rows){0};
}

void tree_rows_clear(struct tree_rows *rows)
{
	rows->nr = 0;
}

void tree_rows_add(struct tree_rows *rows, const struct tree_row *row)
{
	ARRAY_GROW(rows->rows, rows->nr, rows->cap);
	rows->rows[rows->nr++] = *row;
}

static uint64_t rest_key(uint64_t parent_key)
{
	return hash_mix(parent_key, KEY_OF_REST);
}

/* Functions that were counted but are in no sample have a row only where calls are shown. */
static bool is_there(const struct tree_part *part, const struct tree_node *node)
{
	return part->has_calls || !node->unsampled;
}

static bool is_worth_a_row(const struct tree_part *part, const struct tree_node *node)
{
	return node->unsampled ||
	       tally_percent(&node->total, &part->tree->weights->total) >= part->min_percent;
}

struct children {
	uint32_t nr_shown, nr_rest;
};

static struct children children_of(const struct tree_part *part, const struct tree_row *parent)
{
	const struct tree_node *nodes = part->tree->nodes;
	struct children children = {0};
	bool all = browse_opened_find(part->opened, rest_key(parent->key), false);

	if (part->max_depth && parent->calls >= part->max_depth)
		return children;
	for (uint32_t at = nodes[parent->node].first_child; at; at = nodes[at].next_sibling) {
		if (!is_there(part, &nodes[at]))
			continue;
		if (all || is_worth_a_row(part, &nodes[at]))
			children.nr_shown++;
		else
			children.nr_rest++;
	}
	/* If all are small, none is worth more than another. */
	if (children.nr_shown == 0 && children.nr_rest > 0)
		children = (struct children){.nr_shown = children.nr_rest};
	return children;
}

static bool has_children(const struct tree_part *part, const struct tree_row *row)
{
	struct children children = children_of(part, row);

	return children.nr_shown + children.nr_rest > 0;
}

static bool is_open_at_first(const struct tree_part *part, const struct tree_row *parent,
			     const struct children *children, uint32_t node)
{
	const struct tree *tree = part->tree;

	if (part->open_percent > 0 &&
	    tally_percent(&tree->nodes[node].total, &tree->weights->total) >= part->open_percent)
		return true;
	return children->nr_shown == 1 && (parent->calls || !part->is_closed);
}

/* Put the children of a row on top of the pending rows, in reverse order. */
static void push_children(struct gatherer *gatherer, const struct tree_row *parent)
{
	const struct tree_part *part = gatherer->part;
	const struct tree_node *nodes = part->tree->nodes;
	struct children children = children_of(part, parent);
	uint32_t nr = children.nr_shown + (children.nr_rest > 0),
		 at = nodes[parent->node].first_child;
	struct tree_row row = {.tree = part->tree,
			       .calls = parent->calls + 1,
			       .is_branch = nr > 1,
			       .branches = parent->branches + (nr > 1)};
	size_t base = gatherer->pending.nr;

	for (uint32_t i = 0; i < nr; i++)
		tree_rows_add(&gatherer->pending, &row);
	/*
	 * Heaviest first: those worth a row come before the rest, except for nodes with counts
	 * only.
	 */
	for (uint32_t i = 0; i < children.nr_shown; at = nodes[at].next_sibling) {
		struct tree_row *child = &gatherer->pending.rows[base + nr - 1 - i];

		if (!is_there(part, &nodes[at]) ||
		    (children.nr_rest > 0 && !is_worth_a_row(part, &nodes[at])))
			continue;
		child->node = at;
		child->key = hash_mix(parent->key, part->label_keys[nodes[at].label]);
		child->has_children = has_children(part, child);
		child->is_open = child->has_children &&
				 browse_opened_find(part->opened, child->key,
						    is_open_at_first(part, parent, &children, at));
		child->continues = parent->continues;
		if (nr > 1)
			child->continues = parent->continues << 1 | (i + 1 < nr);
		i++;
	}
	if (children.nr_rest > 0) {
		struct tree_row *rest = &gatherer->pending.rows[base];

		rest->kind = TREE_ROW_REST;
		rest->node = parent->node;
		rest->nr_rest = children.nr_rest;
		rest->key = rest_key(parent->key);
		rest->has_children = true;
		rest->continues = nr > 1 ? parent->continues << 1 : parent->continues;
	}
}

void tree_rows_add_part(struct tree_rows *rows, const struct tree_part *part)
{
	const struct tree_row top = {.node = part->node, .key = part->key};
	struct gatherer gatherer = {.part = part, .rows = rows};

	push_children(&gatherer, &top);
	while (gatherer.pending.nr > 0) {
		struct tree_row row = gatherer.pending.rows[--gatherer.pending.nr];

		tree_rows_add(rows, &row);
		if (row.is_open)
			push_children(&gatherer, &row);
	}
	tree_rows_release(&gatherer.pending);
}
