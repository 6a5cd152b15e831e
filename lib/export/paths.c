// SPDX-License-Identifier: GPL-2.0-or-later
/* The paths of an export, made from stacks. */
#include "export/paths_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define NO_PATH UINT32_MAX

/*
 * Stand-ins for missing callers as nodes of PATH_FRAMES paths, numbered after the profile's frames.
 */
enum stand_in {
	STAND_IN_UNATTRIBUTED,
	STAND_IN_NO_STACK,
	STAND_IN_TRUNCATED, /* and enum stack_end on top */
};

/*
 * Each stack is translated once: its path is its parent's path and the nodes of its own frame. One
 * table by stack_id is for whole stacks, and one for each kind of truncation, because its stand-in
 * is at the root.
 */
struct path_maker {
	const struct expansion *expansion;
	enum path_kind kind;
	struct stack_trie *paths;
	struct stack_id *whole;
	struct stack_id *cut[STACK_END_COUNT];
	struct stack_id *unknown; /* scratch of fill_path() */
	size_t cap_unknown;
};

struct path_maker *path_maker_new(const struct expansion *expansion, enum path_kind kind,
				  struct stack_trie *paths)
{
	struct path_maker *maker = xcalloc(1, sizeof(*maker));

	*maker = (struct path_maker){.expansion = expansion, .kind = kind, .paths = paths};
	return maker;
}

void path_maker_free(struct path_maker *maker)
{
	if (!maker)
		return;
	free(maker->whole);
	for (size_t i = 0; i < STACK_END_COUNT; i++)
		free(maker->cut[i]);
	free(maker->unknown);
	free(maker);
}

static struct stack_id append_node(const struct path_maker *maker, struct stack_id path,
				   uint32_t node)
{
	return stack_trie_intern(maker->paths, path, (struct frame_id){node});
}

static uint32_t level_node(const struct path_maker *maker, const struct level *level)
{
	return maker->kind == PATH_PLACES ? level->place : level->label;
}

static struct stack_id append_frame(const struct path_maker *maker, struct stack_id path,
				    struct frame_id frame)
{
	const struct expansion *expansion = maker->expansion;
	struct frame_levels levels = expansion->frames[frame.v];

	if (maker->kind == PATH_FRAMES)
		return append_node(maker, path, frame.v);
	for (uint32_t i = 0; i < levels.nr; i++)
		path = append_node(maker, path,
				   level_node(maker, &expansion->levels[levels.first + i]));
	return path;
}

static uint32_t stand_in_of(const struct expansion *expansion, const struct level *root)
{
	if (root == &expansion->unattributed)
		return STAND_IN_UNATTRIBUTED;
	if (root == &expansion->no_stack)
		return STAND_IN_NO_STACK;
	return STAND_IN_TRUNCATED + (uint32_t)(root - expansion->truncated);
}

static struct stack_id root_path(const struct path_maker *maker, const struct level *root)
{
	const struct expansion *expansion = maker->expansion;

	if (!root)
		return STACK_EMPTY;
	if (maker->kind == PATH_FRAMES)
		return append_node(maker, STACK_EMPTY,
				   (uint32_t)expansion->profile->nr_frames +
					   stand_in_of(expansion, root));
	return append_node(maker, STACK_EMPTY, level_node(maker, root));
}

static struct stack_id *new_table(const struct path_maker *maker, struct stack_id root)
{
	uint32_t nr = stack_trie_nr(maker->expansion->profile->stacks);
	struct stack_id *table = xcalloc(nr, sizeof(*table));

	memset(table, 0xff, nr * sizeof(*table));
	table[STACK_EMPTY.v] = root;
	return table;
}

/* Fill in a stack and all its ancestors that are not there yet; depth is not bounded. */
static void fill_path(struct path_maker *maker, struct stack_id *table, struct stack_id stack)
{
	const struct stack_trie *stacks = maker->expansion->profile->stacks;
	size_t nr = 0;

	while (table[stack.v].v == NO_PATH) {
		ARRAY_GROW(maker->unknown, nr, maker->cap_unknown);
		maker->unknown[nr++] = stack;
		stack = stack_trie_parent(stacks, stack);
	}
	while (nr) {
		struct stack_id child = maker->unknown[--nr];

		table[child.v] =
			append_frame(maker, table[stack.v], stack_trie_frame(stacks, child));
		stack = child;
	}
}

struct stack_id path_of(struct path_maker *maker, const struct sample *sample)
{
	const struct level *root = expansion_root_level(maker->expansion, sample);
	struct stack_id **table = root ? &maker->cut[sample->end] : &maker->whole;

	if (sample->stack.v == STACK_EMPTY.v || sample->kind == SAMPLE_UNATTRIBUTED)
		return root_path(maker, root);
	if (!*table)
		*table = new_table(maker, root_path(maker, root));
	if ((*table)[sample->stack.v].v == NO_PATH)
		fill_path(maker, *table, sample->stack);
	return (*table)[sample->stack.v];
}

void path_nodes_of(struct path_nodes *nodes, const struct stack_trie *paths, struct stack_id path)
{
	nodes->nr = stack_trie_depth(paths, path);
	ARRAY_RESERVE(nodes->nodes, nodes->nr, nodes->cap);
	for (uint32_t i = nodes->nr; i > 0; i--) {
		nodes->nodes[i - 1] = stack_trie_frame(paths, path).v;
		path = stack_trie_parent(paths, path);
	}
}

void path_nodes_release(struct path_nodes *nodes)
{
	free(nodes->nodes);
	*nodes = (struct path_nodes){.nr = 0};
}

const struct level *path_frame_levels(const struct expansion *expansion, uint32_t node,
				      uint32_t *nr)
{
	size_t nr_frames = expansion->profile->nr_frames;

	if (node < nr_frames) {
		*nr = expansion->frames[node].nr;
		return &expansion->levels[expansion->frames[node].first];
	}
	*nr = 1;
	switch (node - nr_frames) {
	case STAND_IN_UNATTRIBUTED:
		return &expansion->unattributed;
	case STAND_IN_NO_STACK:
		return &expansion->no_stack;
	}
	assert(node - nr_frames - STAND_IN_TRUNCATED < STACK_END_COUNT);
	return &expansion->truncated[node - nr_frames - STAND_IN_TRUNCATED];
}

const struct code_address *path_frame_address(const struct expansion *expansion, uint32_t node)
{
	const struct profile *profile = expansion->profile;
	const struct code_address *where;

	if (node >= profile->nr_frames)
		return NULL;
	where = &profile->frames[node].where;
	return module_table_get(profile->modules, where->module)->kind == MODULE_KIND_ELIDED
		       ? NULL
		       : where;
}

uint32_t path_nr_frame_nodes(const struct expansion *expansion)
{
	return (uint32_t)expansion->profile->nr_frames + STAND_IN_TRUNCATED + STACK_END_COUNT;
}
