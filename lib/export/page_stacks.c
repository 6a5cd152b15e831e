// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stacks of the page, in the order in which its first view draws them, so that opening a page
 * of a large recording needs neither a search for children nor sorting.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/index_set.h"
#include "calltree/expand.h"
#include "export/extract_priv.h"
#include "export/page_data_priv.h"

/* Numbers for pairs of numbers, in the order of first use. */
struct pair {
	uint32_t left, right;
};

struct pairs {
	struct pair *pairs;
	uint32_t nr;
	struct index_set index;
};

static void pairs_init(struct pairs *pairs, size_t most)
{
	*pairs = (struct pairs){.pairs = xcalloc(most, sizeof(*pairs->pairs))};
}

static void pairs_release(struct pairs *pairs)
{
	free(pairs->pairs);
	index_set_release(&pairs->index);
}

static bool pair_equal(const void *owner, uint32_t index, const void *key)
{
	const struct pairs *pairs = owner;
	const struct pair *pair = key;

	return pairs->pairs[index].left == pair->left && pairs->pairs[index].right == pair->right;
}

static uint32_t pair_number(struct pairs *pairs, uint32_t left, uint32_t right)
{
	const struct pair pair = {left, right};
	uint64_t hash = hash_u64((uint64_t)left << 32 | right);
	uint32_t number = index_set_find(&pairs->index, hash, pair_equal, pairs, &pair);

	if (number != INDEX_NONE)
		return number;
	pairs->pairs[pairs->nr] = pair;
	index_set_add(&pairs->index, hash, pairs->nr);
	return pairs->nr++;
}

/*
 * The tree of functions that rows belong to: rows with equal functions up to the root are one node.
 */
struct nodes {
	uint32_t *of_row;
	struct pairs pairs; /* parent, ROW_NONE: none; and label */
	uint64_t *weight;
	uint32_t nr;
};

static uint32_t parent_of(const struct nodes *nodes, uint32_t node)
{
	return nodes->pairs.pairs[node].left;
}

static void nodes_release(struct nodes *nodes)
{
	free(nodes->of_row);
	free(nodes->weight);
	pairs_release(&nodes->pairs);
}

static void nodes_init(struct nodes *nodes, const struct page_data *data, const uint64_t *weights)
{
	const struct rows *rows = &data->rows;

	*nodes = (struct nodes){.of_row = xcalloc(rows->nr_stacks, sizeof(*nodes->of_row)),
				.weight = xcalloc(rows->nr_stacks, sizeof(*nodes->weight))};
	pairs_init(&nodes->pairs, rows->nr_stacks);
	for (size_t i = 0; i < rows->nr_stacks; i++) {
		const struct stack_row *row = &rows->stacks[i];
		uint32_t above = row->prefix == ROW_NONE ? ROW_NONE : nodes->of_row[row->prefix];

		nodes->of_row[i] =
			pair_number(&nodes->pairs, above, rows->frames[row->frame].level->label);
	}
	nodes->nr = nodes->pairs.nr;
	for (uint32_t path = 1; path < stack_trie_nr(data->extract->paths); path++)
		nodes->weight[nodes->of_row[rows->stack_of_path[path]]] += weights[path];
	/* Parents come before their children. */
	for (uint32_t node = nodes->nr; node-- > 0;)
		if (parent_of(nodes, node) != ROW_NONE)
			nodes->weight[parent_of(nodes, node)] += nodes->weight[node];
}

struct child {
	uint64_t weight;
	uint32_t node;
};

/* Lightest first: the last one is the next to be taken. */
static int lightest_first(const void *left, const void *right)
{
	const struct child *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? -1 : 1;
	return a->node < b->node ? 1 : -1;
}

/* Children of each node, and of none at the end, in one array; [first[node], first[node + 1]). */
static struct child *children_of(const struct nodes *nodes, uint32_t *first)
{
	struct child *children = xcalloc(nodes->nr, sizeof(*children));
	cleanup_free uint32_t *at = xcalloc(nodes->nr + 1, sizeof(*at));

	for (uint32_t node = 0; node < nodes->nr; node++) {
		uint32_t parent = parent_of(nodes, node);

		first[(parent == ROW_NONE ? nodes->nr : parent) + 1]++;
	}
	for (uint32_t node = 0; node <= nodes->nr; node++) {
		first[node + 1] += first[node];
		at[node] = first[node];
	}
	for (uint32_t node = 0; node < nodes->nr; node++) {
		uint32_t parent = parent_of(nodes, node);

		children[at[parent == ROW_NONE ? nodes->nr : parent]++] =
			(struct child){nodes->weight[node], node};
	}
	for (uint32_t node = 0; node <= nodes->nr; node++)
		if (first[node + 1] - first[node] > 1)
			qsort(children + first[node], first[node + 1] - first[node],
			      sizeof(*children), lightest_first);
	return children;
}

/* By node: its rank when parents precede children, and the heaviest child comes first. */
static uint32_t *drawing_ranks(const struct nodes *nodes)
{
	uint32_t *ranks = xcalloc(nodes->nr, sizeof(*ranks));
	cleanup_free uint32_t *first = xcalloc(nodes->nr + 2, sizeof(*first));
	cleanup_free struct child *children = children_of(nodes, first);
	cleanup_free uint32_t *open = xcalloc(nodes->nr, sizeof(*open));
	uint32_t nr_open = 0, nr_done = 0, node = nodes->nr; /* the parent of all roots */

	for (;;) {
		for (uint32_t i = first[node]; i < first[node + 1]; i++)
			open[nr_open++] = children[i].node;
		if (!nr_open)
			return ranks;
		node = open[--nr_open];
		ranks[node] = nr_done++;
	}
}

/* By row: its number where rows are sorted by rank. Rows of a node stay in their order. */
static uint32_t *places_of(const struct nodes *nodes, const uint32_t *ranks, size_t nr_rows)
{
	uint32_t *places = xcalloc(nr_rows, sizeof(*places));
	cleanup_free uint32_t *at = xcalloc(nodes->nr + 1, sizeof(*at));

	for (size_t i = 0; i < nr_rows; i++)
		at[ranks[nodes->of_row[i]] + 1]++;
	for (uint32_t rank = 0; rank < nodes->nr; rank++)
		at[rank + 1] += at[rank];
	for (size_t i = 0; i < nr_rows; i++)
		places[i] = at[ranks[nodes->of_row[i]]]++;
	return places;
}

static void move_stacks(struct page_data *data, const uint32_t *places)
{
	struct rows *rows = &data->rows;
	struct stack_row *stacks = xcalloc(rows->nr_stacks, sizeof(*stacks));

	for (size_t i = 0; i < rows->nr_stacks; i++) {
		const struct stack_row *row = &rows->stacks[i];

		stacks[places[i]] = (struct stack_row){
			row->frame, row->prefix == ROW_NONE ? ROW_NONE : places[row->prefix]};
	}
	for (uint32_t path = 1; path < stack_trie_nr(data->extract->paths); path++)
		rows->stack_of_path[path] = places[rows->stack_of_path[path]];
	free(rows->stacks);
	rows->stacks = stacks;
	rows->cap_stacks = rows->nr_stacks;
}

/* Frames have numbers in the order of their first use: neighbours have similar ones. */
static void move_frames(struct rows *rows)
{
	struct frame_row *frames = xcalloc(rows->nr_frames, sizeof(*frames));
	struct numbering numbers;

	numbering_init(&numbers, rows->nr_frames);
	for (size_t i = 0; i < rows->nr_stacks; i++)
		rows->stacks[i].frame = numbering_of(&numbers, rows->stacks[i].frame);
	for (uint32_t i = 0; i < numbers.nr; i++)
		frames[i] = rows->frames[numbers.ids[i]];
	numbering_release(&numbers);
	free(rows->frames);
	rows->frames = frames;
	rows->cap_frames = rows->nr_frames;
}

void page_stacks_sort(struct page_data *data, const uint64_t *weights)
{
	size_t nr_rows = data->rows.nr_stacks;
	cleanup_free uint32_t *ranks = NULL;
	cleanup_free uint32_t *places = NULL;
	struct nodes nodes;

	nodes_init(&nodes, data, weights);
	ranks = drawing_ranks(&nodes);
	places = places_of(&nodes, ranks, nr_rows);
	data->node_of_row = xcalloc(nr_rows, sizeof(*data->node_of_row));
	for (size_t i = 0; i < nr_rows; i++)
		data->node_of_row[places[i]] = ranks[nodes.of_row[i]];
	nodes_release(&nodes);
	move_stacks(data, places);
	move_frames(&data->rows);
}

/* --- columns --- */

static bool is_first_of_node(const struct page_data *data, size_t row)
{
	return row == 0 || data->node_of_row[row] != data->node_of_row[row - 1];
}

static void write_nodes(struct page_data *data)
{
	const struct rows *rows = &data->rows;
	cleanup_free uint32_t *depths = xcalloc(rows->nr_stacks, sizeof(*depths));
	uint32_t next = 0;

	page_columns_begin(&data->columns, "nodeUp");
	for (size_t i = 0; i < rows->nr_stacks; i++) {
		uint32_t prefix = rows->stacks[i].prefix;

		depths[i] = prefix == ROW_NONE ? 0 : depths[prefix] + 1;
		if (!is_first_of_node(data, i))
			continue;
		page_columns_add(&data->columns, next - depths[i]);
		next = depths[i] + 1;
	}
	page_columns_begin(&data->columns, "nodeRows");
	for (size_t i = 0, first = 0; i < rows->nr_stacks; i++) {
		if (i + 1 < rows->nr_stacks && !is_first_of_node(data, i + 1))
			continue;
		page_columns_add(&data->columns, i + 1 - first);
		first = i + 1;
	}
}

/* The prefix of each row, as an index into the rows of the parent node. */
static void write_prefixes(struct page_data *data)
{
	const struct rows *rows = &data->rows;
	cleanup_free uint32_t *first_of_node = xcalloc(rows->nr_stacks, sizeof(*first_of_node));

	page_columns_begin(&data->columns, "stackPrefix");
	for (size_t i = 0; i < rows->nr_stacks; i++) {
		uint32_t prefix = rows->stacks[i].prefix;

		if (is_first_of_node(data, i))
			first_of_node[data->node_of_row[i]] = (uint32_t)i;
		page_columns_add(
			&data->columns,
			prefix == ROW_NONE ? 0 : prefix - first_of_node[data->node_of_row[prefix]]);
	}
}

/*
 * Few frames follow a frame, though they do so in many stacks: these are pairs, sorted by the first
 * one, and the frame of a row is the number of its pair among those of the frame above.
 */
static void write_pairs(struct page_data *data, const struct pairs *pairs, const uint32_t *nr_after)
{
	size_t nr_left = data->rows.nr_frames + 1;
	cleanup_free uint32_t *at = xcalloc(nr_left + 1, sizeof(*at));
	cleanup_free uint32_t *right = xcalloc(pairs->nr, sizeof(*right));

	page_columns_begin(&data->columns, "frameNext");
	for (size_t i = 0; i < nr_left; i++) {
		page_columns_add(&data->columns, nr_after[i]);
		at[i + 1] = at[i] + nr_after[i];
	}
	for (uint32_t i = 0; i < pairs->nr; i++)
		right[at[pairs->pairs[i].left]++] = pairs->pairs[i].right;
	page_columns_begin(&data->columns, "nextFrame");
	for (uint32_t i = 0; i < pairs->nr; i++)
		page_columns_add(&data->columns, right[i]);
}

static void write_frames_of_rows(struct page_data *data)
{
	const struct rows *rows = &data->rows;
	cleanup_free uint32_t *nr_after = xcalloc(rows->nr_frames + 1, sizeof(*nr_after));
	cleanup_free uint32_t *numbers = xcalloc(rows->nr_stacks, sizeof(*numbers));
	struct pairs pairs;

	pairs_init(&pairs, rows->nr_stacks);
	page_columns_begin(&data->columns, "stackNext");
	for (size_t i = 0; i < rows->nr_stacks; i++) {
		const struct stack_row *row = &rows->stacks[i];
		uint32_t above = row->prefix == ROW_NONE ? (uint32_t)rows->nr_frames
							 : rows->stacks[row->prefix].frame;
		uint32_t nr = pairs.nr, pair = pair_number(&pairs, above, row->frame);

		if (pairs.nr > nr)
			numbers[pair] = nr_after[above]++;
		page_columns_add(&data->columns, numbers[pair]);
	}
	write_pairs(data, &pairs, nr_after);
	pairs_release(&pairs);
}

struct use {
	uint32_t nr, path;
};

static int most_used_first(const void *left, const void *right)
{
	const struct use *a = left, *b = right;

	if (a->nr != b->nr)
		return a->nr < b->nr ? 1 : -1;
	return (a->path > b->path) - (a->path < b->path);
}

/* Give small numbers to frequent leaves. */
static void number_leaves(struct page_data *data)
{
	size_t nr = 0;
	struct use *uses = xcalloc(data->nr_uses, sizeof(*uses));

	for (uint32_t path = 1; path < data->nr_uses; path++)
		if (data->uses[path])
			uses[nr++] = (struct use){data->uses[path], path};
	if (nr)
		qsort(uses, nr, sizeof(*uses), most_used_first);
	for (size_t i = 0; i < nr; i++)
		(void)numbering_of(&data->leaves, data->rows.stack_of_path[uses[i].path]);
	free(uses);
}

void page_stacks_write(struct page_data *data)
{
	write_nodes(data);
	write_prefixes(data);
	write_frames_of_rows(data);
	numbering_init(&data->leaves, data->rows.nr_stacks);
	number_leaves(data);
	page_columns_begin(&data->columns, "leafStack");
	for (uint32_t i = 0; i < data->leaves.nr; i++)
		page_columns_add(&data->columns, data->leaves.ids[i]);
}

/* --- use of paths --- */

uint32_t page_meet(struct page_data *data, const struct sample *sample)
{
	uint32_t path = path_of(data->paths, sample).v;
	size_t cap = data->nr_uses;

	if (path >= cap) {
		ARRAY_RESERVE(data->uses, path + (size_t)1, cap);
		memset(data->uses + data->nr_uses, 0, (cap - data->nr_uses) * sizeof(*data->uses));
		data->nr_uses = cap;
	}
	data->uses[path]++;
	return path;
}

uint32_t page_leaf(struct page_data *data, const struct sample *sample)
{
	return numbering_of(&data->leaves,
			    data->rows.stack_of_path[path_of(data->paths, sample).v]);
}

uint32_t page_levels_to(const struct page_data *data, uint32_t row, uint32_t label)
{
	const struct rows *rows = &data->rows;

	for (uint32_t nr = 1; row != ROW_NONE; row = rows->stacks[row].prefix, nr++)
		if (rows->frames[rows->stacks[row].frame].level->label == label)
			return nr;
	return 0;
}
