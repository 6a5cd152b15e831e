// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums of the points of a lane by path. */
#include "export/path_sums_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "export/extract_priv.h"

static void add_point(struct path_sums *sums, const struct point *point)
{
	uint32_t *index = &sums->index_of_path[point->path.v];

	if (!*index) {
		ARRAY_GROW(sums->sums, sums->nr_sums, sums->cap_sums);
		sums->sums[sums->nr_sums++] = (struct path_sum){.path = point->path};
		*index = (uint32_t)sums->nr_sums;
	}
	sums->sums[*index - 1].weight += point->weight;
	sums->sums[*index - 1].nr += point->nr;
}

void path_sums_lane(struct path_sums *sums, const struct extract *extract, const struct lane *lane)
{
	if (!sums->index_of_path)
		sums->index_of_path =
			xcalloc(stack_trie_nr(extract->paths), sizeof(*sums->index_of_path));
	sums->nr_sums = 0;
	for (size_t i = lane->first; i < lane->first + lane->nr; i++)
		add_point(sums, &extract->points[i]);
	for (size_t i = 0; i < sums->nr_sums; i++)
		sums->index_of_path[sums->sums[i].path.v] = 0;
}

void path_sums_release(struct path_sums *sums)
{
	free(sums->sums);
	free(sums->index_of_path);
	*sums = (struct path_sums){0};
}
