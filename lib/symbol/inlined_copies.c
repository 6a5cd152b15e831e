// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/inlined_copies.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dwarf/dwarf_function.h"

static bool function_equal(const void *owner, uint32_t index, const void *key)
{
	const struct inlined_copies *copies = owner;

	return strcmp(copies->functions[index].name, key) == 0;
}

static uint32_t add(struct inlined_copies *copies, const struct inlined_function *function)
{
	ARRAY_GROW(copies->functions, copies->nr, copies->cap);
	copies->functions[copies->nr] = *function;
	return (uint32_t)copies->nr++;
}

/* The function that an origin describes. */
static uint32_t intern(struct inlined_copies *copies, const struct dwarf_origin *origin)
{
	struct inlined_function row = {.nr = 0};
	struct dwarf_function function;
	uint64_t hash;
	uint32_t index;

	dwarf_read_function(origin->file, origin->offset, &function);
	row.name = function.linkage_name ? function.linkage_name : function.name;
	if (!row.name || !function.is_external)
		return add(copies, &row);
	hash = hash_bytes(row.name, strlen(row.name));
	index = index_set_find(&copies->index, hash, function_equal, copies, row.name);
	if (index != INDEX_NONE)
		return index;
	index = add(copies, &row);
	index_set_add(&copies->index, hash, index);
	return index;
}

void inlined_copies_count(struct inlined_copies *copies, const struct dwarf_inventory *inventory)
{
	if (copies->of_origin)
		return;
	copies->of_origin = xcalloc(inventory->nr_origins ? inventory->nr_origins : 1,
				    sizeof(*copies->of_origin));
	for (size_t i = 0; i < inventory->nr_origins; i++) {
		const struct dwarf_origin *origin = &inventory->origins[i];
		struct inlined_function *function;

		copies->of_origin[i] = intern(copies, origin);
		function = &copies->functions[copies->of_origin[i]];
		function->nr += origin->nr_inlined;
		function->has_code |= origin->has_code;
	}
}

uint32_t inlined_copies_of(struct inlined_copies *copies, const struct dwarf_inventory *inventory,
			   uint32_t origin)
{
	inlined_copies_count(copies, inventory);
	return copies->functions[copies->of_origin[origin]].nr;
}

void inlined_copies_release(struct inlined_copies *copies)
{
	free(copies->functions);
	free(copies->of_origin);
	index_set_release(&copies->index);
	*copies = (struct inlined_copies){.nr = 0};
}
