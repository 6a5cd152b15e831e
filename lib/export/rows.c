// SPDX-License-Identifier: GPL-2.0-or-later
/* The frames and stacks of an export as flat tables. */
#include "export/rows_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "export/extract_priv.h"

static uint32_t frame_rows(struct rows *rows, const struct extract *extract, uint32_t node,
			   uint32_t *nr)
{
	const struct level *levels = path_frame_levels(extract->expansion, node, nr);

	if (rows->frame_of_node[node] != ROW_NONE)
		return rows->frame_of_node[node];
	rows->frame_of_node[node] = (uint32_t)rows->nr_frames;
	for (uint32_t i = 0; i < *nr; i++) {
		ARRAY_GROW(rows->frames, rows->nr_frames, rows->cap_frames);
		rows->frames[rows->nr_frames++] = (struct frame_row){&levels[i], node, i};
	}
	return rows->frame_of_node[node];
}

static void add_stack_rows(struct rows *rows, const struct extract *extract, struct stack_id path)
{
	uint32_t node = stack_trie_frame(extract->paths, path).v;
	uint32_t nr;
	uint32_t frame = frame_rows(rows, extract, node, &nr);
	uint32_t prefix = rows->stack_of_path[stack_trie_parent(extract->paths, path).v];

	for (uint32_t i = 0; i < nr; i++) {
		ARRAY_GROW(rows->stacks, rows->nr_stacks, rows->cap_stacks);
		rows->stacks[rows->nr_stacks] = (struct stack_row){frame + i, prefix};
		prefix = (uint32_t)rows->nr_stacks++;
	}
	rows->stack_of_path[path.v] = prefix;
}

void rows_init(struct rows *rows, const struct extract *extract)
{
	uint32_t nr_nodes = path_nr_frame_nodes(extract->expansion);
	uint32_t nr_paths = stack_trie_nr(extract->paths);

	*rows = (struct rows){.frames = NULL};
	rows->frame_of_node = xcalloc(nr_nodes, sizeof(*rows->frame_of_node));
	memset(rows->frame_of_node, 0xff, nr_nodes * sizeof(*rows->frame_of_node));
	rows->stack_of_path = xcalloc(nr_paths, sizeof(*rows->stack_of_path));
	rows->stack_of_path[STACK_EMPTY.v] = ROW_NONE;
	for (uint32_t path = 1; path < nr_paths; path++)
		add_stack_rows(rows, extract, (struct stack_id){path});
}

void rows_release(struct rows *rows)
{
	free(rows->frames);
	free(rows->stacks);
	free(rows->stack_of_path);
	free(rows->frame_of_node);
	*rows = (struct rows){.frames = NULL};
}
