// SPDX-License-Identifier: GPL-2.0-or-later
/* The members that identify rows of flat tables. */
#include "calltree/flat_priv.h"

#include <string.h>

#include "base/alloc.h"
#include "base/index_set.h"

_Static_assert(sizeof(((struct flat_row *)0)->ids) ==
		       offsetof(struct flat_row, facts) + sizeof(((struct flat_row *)0)->facts),
	       "all ids are in the array");

const struct flat_row flat_no_row = {.label = FLAT_NONE,
				     .module = FLAT_NONE,
				     .thread = FLAT_NONE,
				     .process = FLAT_NONE,
				     .object = FLAT_NONE,
				     .facts = {FLAT_NONE, FLAT_NONE},
				     .wait_function = FLAT_NONE};

static bool key_equal(const void *owner, uint32_t index, const void *key)
{
	const struct flat_row *a = &((const struct flat *)owner)->rows[index], *b = key;

	return memcmp(a->ids, b->ids, sizeof(a->ids)) == 0;
}

static uint64_t key_hash(const struct flat_row *key)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < FLAT_NR_IDS; i++)
		if (key->ids[i] != flat_no_row.ids[i])
			hash = hash_mix(hash, (uint64_t)i << 32 | key->ids[i]);
	return hash;
}

uint32_t flat_append_row(struct flat *flat, const struct flat_row *row)
{
	ARRAY_GROW(flat->rows, flat->nr, flat->cap);
	flat->rows[flat->nr] = *row;
	return (uint32_t)flat->nr++;
}

uint32_t flat_intern_row(struct flat *flat, struct index_set *rows, const struct flat_row *key)
{
	uint64_t hash = key_hash(key);
	uint32_t found = index_set_find(rows, hash, key_equal, flat, key);

	if (found == INDEX_NONE) {
		found = flat_append_row(flat, key);
		index_set_add(rows, hash, found);
	}
	return found;
}

void flat_find_groups(struct flat *groups, struct flat *keys, struct index_set *key_set)
{
	size_t nr_keys = keys->nr, kept = 0;

	for (size_t i = 0; i < groups->nr; i++) {
		struct flat_row *row = &groups->rows[i];

		row->group = flat_intern_row(keys, key_set, row);
		if (row->group < nr_keys)
			groups->rows[kept++] = *row;
	}
	groups->nr = kept;
}

struct flat_row flat_join_keys(const struct flat_row *a, const struct flat_row *b)
{
	struct flat_row key = *b;

	for (size_t i = 0; i < FLAT_NR_IDS; i++)
		if (key.ids[i] == flat_no_row.ids[i])
			key.ids[i] = a->ids[i];
	return key;
}
