// SPDX-License-Identifier: GPL-2.0-or-later
/* Remembers the open nodes of trees. */
#include "browse/opened.h"

#include <stdlib.h>

#include "base/alloc.h"

void browse_opened_release(struct browse_opened *opened)
{
	free(opened->choices);
	index_set_release(&opened->set);
	*opened = (struct browse_opened){0};
}

static bool key_equal(const void *owner, uint32_t index, const void *key)
{
	return ((const struct browse_choice *)owner)[index].key == *(const uint64_t *)key;
}

static uint32_t find(const struct browse_opened *opened, uint64_t key)
{
	return index_set_find(&opened->set, key, key_equal, opened->choices, &key);
}

bool browse_opened_find(const struct browse_opened *opened, uint64_t key, bool standard)
{
	uint32_t at = find(opened, key);

	return at == INDEX_NONE ? standard : opened->choices[at].is_open;
}

void browse_opened_set(struct browse_opened *opened, uint64_t key, bool is_open)
{
	uint32_t at = find(opened, key);

	if (at == INDEX_NONE) {
		at = (uint32_t)opened->nr;
		ARRAY_GROW(opened->choices, opened->nr, opened->cap);
		opened->choices[opened->nr++].key = key;
		index_set_add(&opened->set, key, at);
	}
	opened->choices[at].is_open = is_open;
}
