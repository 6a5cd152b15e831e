// SPDX-License-Identifier: GPL-2.0-or-later
/* The stack trie. */
#include "stack/stack.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/child_index.h"

struct node {
	struct stack_id parent;
	struct frame_id frame;
	uint32_t depth;
};

struct stack_trie {
	struct node *nodes; /* by stack id; node 0 is the empty stack */
	size_t nr_nodes, cap_nodes;
	struct child_index children; /* by frame, of the first nr_indexed nodes */
	size_t nr_indexed;
};

struct stack_trie *stack_trie_new(void)
{
	struct stack_trie *trie = xcalloc(1, sizeof(*trie));

	ARRAY_GROW(trie->nodes, trie->nr_nodes, trie->cap_nodes);
	trie->nodes[trie->nr_nodes++] = (struct node){.parent = STACK_EMPTY};
	trie->nr_indexed = 1; /* the empty stack is not a child */
	return trie;
}

void stack_trie_free(struct stack_trie *trie)
{
	if (!trie)
		return;
	child_index_release(&trie->children);
	free(trie->nodes);
	free(trie);
}

/* Appended nodes are indexed on the first lookup, which readers of a profile never make. */
static void index_nodes(struct stack_trie *trie)
{
	for (; trie->nr_indexed < trie->nr_nodes; trie->nr_indexed++) {
		const struct node *node = &trie->nodes[trie->nr_indexed];

		child_index_add(&trie->children, node->parent.v, node->frame.v,
				(uint32_t)trie->nr_indexed);
	}
}

struct stack_id stack_trie_append(struct stack_trie *trie, struct stack_id parent,
				  struct frame_id frame)
{
	assert(parent.v < trie->nr_nodes);
	ARRAY_GROW(trie->nodes, trie->nr_nodes, trie->cap_nodes);
	trie->nodes[trie->nr_nodes] = (struct node){
		.parent = parent, .frame = frame, .depth = trie->nodes[parent.v].depth + 1};
	return (struct stack_id){(uint32_t)trie->nr_nodes++};
}

struct stack_id stack_trie_intern(struct stack_trie *trie, struct stack_id parent,
				  struct frame_id frame)
{
	uint32_t found;

	assert(parent.v < trie->nr_nodes);
	index_nodes(trie);
	found = child_index_find(&trie->children, parent.v, frame.v);
	if (found != INDEX_NONE)
		return (struct stack_id){found};
	return stack_trie_append(trie, parent, frame);
}

struct frame_id stack_trie_frame(const struct stack_trie *trie, struct stack_id stack)
{
	assert(stack.v != STACK_EMPTY.v && stack.v < trie->nr_nodes);
	return trie->nodes[stack.v].frame;
}

struct stack_id stack_trie_parent(const struct stack_trie *trie, struct stack_id stack)
{
	assert(stack.v < trie->nr_nodes);
	return trie->nodes[stack.v].parent;
}

uint32_t stack_trie_depth(const struct stack_trie *trie, struct stack_id stack)
{
	assert(stack.v < trie->nr_nodes);
	return trie->nodes[stack.v].depth;
}

uint32_t stack_trie_nr(const struct stack_trie *trie)
{
	return (uint32_t)trie->nr_nodes;
}
