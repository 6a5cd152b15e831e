// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/name_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void name_index_release(struct name_index *index)
{
	index_set_release(&index->set);
	free(index->rows);
	*index = (struct name_index){.nr = 0};
}

static bool is_equal(const void *owner, uint32_t index, const void *key)
{
	const struct name_index *names = owner;
	const struct name_index_row *row = &names->rows[index], *wanted = key;

	return row->nr_bytes == wanted->nr_bytes &&
	       memcmp(row->name, wanted->name, row->nr_bytes) == 0;
}

static uint32_t first_of(const struct name_index *index, const struct name_index_row *wanted,
			 uint64_t hash)
{
	return index_set_find(&index->set, hash, is_equal, index, wanted);
}

void name_index_add(struct name_index *index, const char *name, size_t nr_bytes, uint32_t element)
{
	struct name_index_row row = {
		.name = name, .nr_bytes = nr_bytes, .element = element, .next = INDEX_NONE};
	uint64_t hash = hash_bytes(name, nr_bytes);
	uint32_t first = first_of(index, &row, hash);

	/* The row in the set stays the first one. */
	if (first != INDEX_NONE) {
		row.next = index->rows[first].next;
		index->rows[first].next = (uint32_t)index->nr;
	} else {
		index_set_add(&index->set, hash, (uint32_t)index->nr);
	}
	ARRAY_GROW(index->rows, index->nr, index->cap);
	index->rows[index->nr++] = row;
}

uint32_t name_index_find(const struct name_index *index, const char *name)
{
	struct name_index_row row = {.name = name, .nr_bytes = strlen(name)};

	return first_of(index, &row, hash_bytes(name, row.nr_bytes));
}

bool name_index_has(const struct name_index *index, const char *name, size_t nr_bytes)
{
	struct name_index_row row = {.name = name, .nr_bytes = nr_bytes};

	return first_of(index, &row, hash_bytes(name, nr_bytes)) != INDEX_NONE;
}
