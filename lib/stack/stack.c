// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/stack.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/index_set.h"

struct node {
	struct stack_id parent;
	struct frame_id frame;
	uint32_t depth;
};

struct stack_trie {
	struct node *nodes; /* by stack id; node 0 is the empty stack */
	size_t nr_nodes, cap_nodes;
	struct index_set children; /* (parent, frame) to node */
};

struct stack_trie *stack_trie_new(void)
{
	struct stack_trie *trie = xcalloc(1, sizeof(*trie));

	ARRAY_GROW(trie->nodes, trie->nr_nodes, trie->cap_nodes);
	trie->nodes[trie->nr_nodes++] = (struct node){.parent = STACK_EMPTY};
	return trie;
}

void stack_trie_free(struct stack_trie *trie)
{
	if (!trie)
		return;
	index_set_release(&trie->children);
	free(trie->nodes);
	free(trie);
}

static bool same_node(const void *owner, uint32_t index, const void *key)
{
	const struct stack_trie *trie = owner;
	const struct node *wanted = key;
	const struct node *node = &trie->nodes[index];

	return node->parent.v == wanted->parent.v && node->frame.v == wanted->frame.v;
}

struct stack_id stack_trie_intern(struct stack_trie *trie, struct stack_id parent,
				  struct frame_id frame)
{
	uint64_t hash = hash_u64((uint64_t)parent.v << 32 | frame.v);
	struct node wanted = {.parent = parent, .frame = frame};
	uint32_t found;

	assert(parent.v < trie->nr_nodes);
	found = index_set_find(&trie->children, hash, same_node, trie, &wanted);
	if (found != INDEX_NONE)
		return (struct stack_id){found};
	wanted.depth = trie->nodes[parent.v].depth + 1;
	ARRAY_GROW(trie->nodes, trie->nr_nodes, trie->cap_nodes);
	trie->nodes[trie->nr_nodes] = wanted;
	index_set_add(&trie->children, hash, (uint32_t)trie->nr_nodes);
	return (struct stack_id){(uint32_t)trie->nr_nodes++};
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
