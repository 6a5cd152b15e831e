// SPDX-License-Identifier: GPL-2.0-or-later
/* The frames and stacks of an export as flat tables. */
#include "export/rows_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "calltree/expand.h"
#include "export/paths_priv.h"

static uint32_t frame_rows(struct rows *rows, const struct expansion *expansion, uint32_t node,
			   uint32_t *nr)
{
	const struct level *levels = path_frame_levels(expansion, node, nr);

	if (rows->frame_of_node[node] != ROW_NONE)
		return rows->frame_of_node[node];
	rows->frame_of_node[node] = (uint32_t)rows->nr_frames;
	for (uint32_t i = 0; i < *nr; i++) {
		ARRAY_GROW(rows->frames, rows->nr_frames, rows->cap_frames);
		rows->frames[rows->nr_frames++] = (struct frame_row){&levels[i], node, i};
	}
	return rows->frame_of_node[node];
}

static void add_stack_rows(struct rows *rows, const struct stack_trie *paths,
			   const struct expansion *expansion, struct stack_id path)
{
	uint32_t node = stack_trie_frame(paths, path).v;
	uint32_t nr;
	uint32_t frame = frame_rows(rows, expansion, node, &nr);
	uint32_t prefix = rows->stack_of_path[stack_trie_parent(paths, path).v];

	for (uint32_t i = 0; i < nr; i++) {
		ARRAY_GROW(rows->stacks, rows->nr_stacks, rows->cap_stacks);
		rows->stacks[rows->nr_stacks] = (struct stack_row){frame + i, prefix};
		prefix = (uint32_t)rows->nr_stacks++;
	}
	rows->stack_of_path[path.v] = prefix;
}

void rows_init(struct rows *rows, const struct stack_trie *paths, const struct expansion *expansion)
{
	uint32_t nr_nodes = path_nr_frame_nodes(expansion);
	uint32_t nr_paths = stack_trie_nr(paths);

	*rows = (struct rows){.frames = NULL};
	rows->frame_of_node = xcalloc(nr_nodes, sizeof(*rows->frame_of_node));
	memset(rows->frame_of_node, 0xff, nr_nodes * sizeof(*rows->frame_of_node));
	rows->stack_of_path = xcalloc(nr_paths, sizeof(*rows->stack_of_path));
	rows->stack_of_path[STACK_EMPTY.v] = ROW_NONE;
	for (uint32_t path = 1; path < nr_paths; path++)
		add_stack_rows(rows, paths, expansion, (struct stack_id){path});
}

void rows_release(struct rows *rows)
{
	free(rows->frames);
	free(rows->stacks);
	free(rows->stack_of_path);
	free(rows->frame_of_node);
	*rows = (struct rows){.frames = NULL};
}
