// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares call trees. */
#include "calltree/diff_tree.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/index_set.h"
#include "base/strtab.h"
#include "calltree/diff_priv.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/tree.h"
#include "calltree/weights.h"

/* A tree in the making. */
struct planter {
	struct diff_tree *tree;
	struct index_set set; /* of nodes by (parent, name) */
	uint32_t *names;      /* by node: the number of its name, common to both sides */
	size_t cap_names;
	struct strtab *stand_ins;   /* entries without a row are the same if their names are */
	uint32_t *name_of_label;    /* of the run that is being planted */
	const uint32_t *first_part; /* by run: the number of its first row by itself */
};

static const struct diff_at nowhere = {.row = DIFF_NONE, .label = DIFF_NONE};

/* The row that a row by itself has become a part of. */
static uint32_t whole_of(const struct diff *diff, uint32_t part)
{
	while (diff->parts[part] != part)
		part = diff->parts[part];
	return part;
}

static uint32_t name_of_stand_in(struct planter *planter, const struct expansion *expansion,
				 uint32_t label)
{
	struct buf name = {0};
	struct str_id id;

	label_append_name(&name, expansion, label, NAME_FULL);
	id = strtab_intern(planter->stand_ins, buf_str(&name));
	buf_release(&name);
	return (uint32_t)planter->tree->diff->nr_parts + id.v;
}

/* By label of a run: the number of its name, common to both sides. */
static void name_labels(struct planter *planter, uint32_t run)
{
	const struct diff *diff = planter->tree->diff;
	const struct flat *flat = diff->flats[run];
	const struct expansion *expansion = flat_expansion(flat);

	planter->name_of_label = xmalloc(expansion->nr_labels * sizeof(*planter->name_of_label));
	for (uint32_t i = 0; i < expansion->nr_labels; i++)
		planter->name_of_label[i] = UINT32_MAX;
	for (uint32_t i = 0; i < flat->nr; i++)
		planter->name_of_label[flat->rows[i].label] =
			whole_of(diff, planter->first_part[run] + i);
	for (uint32_t i = 0; i < expansion->nr_labels; i++)
		if (planter->name_of_label[i] == UINT32_MAX)
			planter->name_of_label[i] = name_of_stand_in(planter, expansion, i);
}

struct node_key {
	uint32_t parent, name;
};

static bool node_equal(const void *owner, uint32_t index, const void *key)
{
	const struct planter *planter = owner;
	const struct node_key *want = key;

	return planter->tree->nodes[index].parent == want->parent &&
	       planter->names[index] == want->name;
}

static uint32_t append_node(struct planter *planter, struct node_key key)
{
	struct diff_tree *tree = planter->tree;
	size_t nr_runs = tree->diff->nr_runs;
	uint32_t id = (uint32_t)tree->nr;

	ARRAY_GROW(tree->nodes, tree->nr, tree->cap);
	ARRAY_RESERVE(planter->names, tree->nr + 1, planter->cap_names);
	ARRAY_RESERVE(tree->values, (tree->nr + 1) * nr_runs, tree->cap_values);
	planter->names[id] = key.name;
	for (size_t i = 0; i < nr_runs; i++)
		tree->values[id * nr_runs + i] = 0;
	tree->nodes[tree->nr++] = (struct diff_node){
		.parent = key.parent, .old_at = nowhere, .new_at = nowhere, .inlined = true};
	return id;
}

static uint32_t child_of(struct planter *planter, uint32_t parent, uint32_t name)
{
	struct node_key key = {parent, name};
	uint64_t hash = hash_u64((uint64_t)parent << 32 | name);
	uint32_t id = index_set_find(&planter->set, hash, node_equal, planter, &key);

	if (id == INDEX_NONE) {
		id = append_node(planter, key);
		index_set_add(&planter->set, hash, id);
	}
	return id;
}

static void add_node(struct planter *planter, uint32_t id, uint32_t run,
		     const struct tree_node *from)
{
	const struct diff *diff = planter->tree->diff;
	struct diff_node *node = &planter->tree->nodes[id];
	bool is_old = run < diff->old_side.nr;
	struct diff_at *at = is_old ? &node->old_at : &node->new_at;

	if (at->row == DIFF_NONE)
		*at = (struct diff_at){.run = run, .row = 0, .label = from->label};
	node->inlined = node->inlined && from->inlined;
	tally_add(is_old ? &node->old_total : &node->new_total, &from->total);
	tally_add(is_old ? &node->old_self : &node->new_self, &from->self);
	planter->tree->values[id * diff->nr_runs + run] += (double)from->total.weight;
}

static void plant_run(struct planter *planter, uint32_t run)
{
	const struct diff *diff = planter->tree->diff;
	struct tree *tree = tree_new(diff->flats[run]->weights);
	cleanup_free uint32_t *ids = xcalloc(tree->nr, sizeof(*ids));

	name_labels(planter, run);
	for (uint32_t i = 1; i < tree->nr; i++) {
		const struct tree_node *from = &tree->nodes[i];

		if (from->total.weight == 0)
			continue;
		ids[i] = child_of(planter, ids[from->parent], planter->name_of_label[from->label]);
		add_node(planter, ids[i], run, from);
	}
	free(planter->name_of_label);
	tree_free(tree);
}

static int larger_first(const void *a, const void *b, void *context)
{
	const struct diff_tree *tree = context;
	const struct diff_node *left = &tree->nodes[*(const uint32_t *)a];
	const struct diff_node *right = &tree->nodes[*(const uint32_t *)b];
	double left_size = fabs(left->change), right_size = fabs(right->change);

	if (left_size != right_size)
		return left_size > right_size ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* Link the children of every node in that order. */
static void link_children(struct diff_tree *tree)
{
	cleanup_free uint32_t *order = xmalloc(tree->nr * sizeof(*order));

	for (uint32_t i = 0; i < tree->nr; i++)
		order[i] = i;
	qsort_r(order, tree->nr, sizeof(*order), larger_first, tree);
	/* Each node is put before the later ones. */
	for (size_t i = tree->nr; i-- > 0;) {
		struct diff_node *node = &tree->nodes[order[i]];

		if (order[i] == DIFF_TREE_ROOT)
			continue;
		node->next_sibling = tree->nodes[node->parent].first_child;
		tree->nodes[node->parent].first_child = order[i];
	}
}

static void compare_nodes(struct diff_tree *tree)
{
	cleanup_free struct diff_estimate *estimates = xcalloc(tree->nr, sizeof(*estimates));

	for (size_t i = 1; i < tree->nr; i++) {
		const struct diff_node *node = &tree->nodes[i];
		const struct diff_parts parts = {.old_part = &node->old_total,
						 .new_part = &node->new_total,
						 .values = tree->values + i * tree->diff->nr_runs};

		estimates[i] = diff_estimate_of(tree->diff, &parts);
	}
	diff_judge(estimates + 1, tree->nr - 1);
	for (size_t i = tree->nr - 1; i > 0; i--) {
		struct diff_node *node = &tree->nodes[i];

		node->change = estimates[i].change;
		node->half = estimates[i].half;
		node->leads = node->leads || diff_node_is_sure(node);
		if (node->leads)
			tree->nodes[node->parent].leads = true;
	}
}

struct diff_tree *diff_tree_new(const struct diff *diff)
{
	struct diff_tree *tree = xcalloc(1, sizeof(*tree));
	struct planter planter = {.tree = tree, .stand_ins = strtab_new()};
	uint32_t *first_part = xcalloc(diff->nr_runs, sizeof(*first_part));

	tree->diff = diff;
	for (size_t run = 1; run < diff->nr_runs; run++)
		first_part[run] = first_part[run - 1] + (uint32_t)diff->flats[run - 1]->nr;
	planter.first_part = first_part;
	append_node(&planter, (struct node_key){DIFF_TREE_ROOT, UINT32_MAX});
	for (uint32_t run = 0; run < diff->nr_runs; run++)
		plant_run(&planter, run);
	compare_nodes(tree);
	link_children(tree);
	index_set_release(&planter.set);
	strtab_free(planter.stand_ins);
	free(planter.names);
	free(first_part);
	return tree;
}

void diff_tree_free(struct diff_tree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	free(tree->values);
	free(tree);
}

bool diff_node_is_sure(const struct diff_node *node)
{
	return fabs(node->change) > node->half;
}

const struct diff_at *diff_node_known_at(const struct diff_node *node)
{
	return node->new_at.row != DIFF_NONE ? &node->new_at : &node->old_at;
}
