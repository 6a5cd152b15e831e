// SPDX-License-Identifier: GPL-2.0-or-later
/* The children of the nodes of a tree, by key. */
#include "base/child_index.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"

/* More children than that are hashed: a file may be crafted, and some functions call thousands. */
#define FEW 6

struct child_link {
	uint32_t parent, key;
	uint32_t first_child, next_sibling; /* 0: none, as node 0 is never a child */
	uint32_t nr_children;
};

void child_index_release(struct child_index *index)
{
	free(index->links);
	index_set_release(&index->wide);
	*index = (struct child_index){0};
}

static uint64_t hash_of(uint32_t parent, uint32_t key)
{
	return hash_u64((uint64_t)parent << 32 | key);
}

static bool same_child(const void *owner, uint32_t node, const void *key)
{
	const struct child_link *have = &((const struct child_index *)owner)->links[node];
	const struct child_link *want = key;

	return have->parent == want->parent && have->key == want->key;
}

uint32_t child_index_find(const struct child_index *index, uint32_t parent, uint32_t key)
{
	const struct child_link *links = index->links;
	struct child_link wanted = {.parent = parent, .key = key};

	if (parent >= index->nr)
		return INDEX_NONE;
	if (links[parent].nr_children > FEW)
		return index_set_find(&index->wide, hash_of(parent, key), same_child, index,
				      &wanted);
	for (uint32_t node = links[parent].first_child; node; node = links[node].next_sibling)
		if (links[node].key == key)
			return node;
	return INDEX_NONE;
}

static void hash_child(struct child_index *index, uint32_t child)
{
	const struct child_link *link = &index->links[child];

	index_set_add(&index->wide, hash_of(link->parent, link->key), child);
}

static void grow(struct child_index *index, size_t nr)
{
	ARRAY_RESERVE(index->links, nr, index->cap);
	while (index->nr < nr)
		index->links[index->nr++] = (struct child_link){0};
}

void child_index_add(struct child_index *index, uint32_t parent, uint32_t key, uint32_t child)
{
	struct child_link *link, *above;

	assert(child > parent && child >= index->nr);
	grow(index, (size_t)child + 1);
	link = &index->links[child];
	above = &index->links[parent];
	*link = (struct child_link){
		.parent = parent, .key = key, .next_sibling = above->first_child};
	above->first_child = child;
	above->nr_children++;
	if (above->nr_children == FEW + 1)
		for (uint32_t node = child; node; node = index->links[node].next_sibling)
			hash_child(index, node);
	else if (above->nr_children > FEW)
		hash_child(index, child);
}
