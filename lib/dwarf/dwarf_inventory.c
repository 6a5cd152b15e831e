// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists the functions that debug information knows, and counts their inlined copies. */
#include "dwarf/dwarf_inventory.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "dwarf/dwarf_range.h"
#include "dwarf/dwarf_visit.h"

/* From an instance to what it is one of: two steps with link-time optimisation. */
#define MAX_ORIGIN_HOPS 8

/* A level says whether its entries are in code that the file has. */
struct inventory_walk {
	struct dwarf_visit visit; /* first */
	struct dwarf_inventory *inventory;
	struct range_list ranges; /* of the entry at hand */
};

struct origin_key {
	struct dwarf_file *file;
	uint64_t offset;
};

static bool origin_equal(const void *owner, uint32_t index, const void *key)
{
	const struct dwarf_inventory *inventory = owner;
	const struct dwarf_origin *row = &inventory->origins[index];
	const struct origin_key *wanted = key;

	return row->file == wanted->file && row->offset == wanted->offset;
}

static uint32_t intern_origin(struct dwarf_inventory *inventory, struct origin_key key)
{
	uint64_t hash = hash_mix(hash_u64((uintptr_t)key.file), key.offset);
	uint32_t index =
		index_set_find(&inventory->origin_index, hash, origin_equal, inventory, &key);

	if (index != INDEX_NONE)
		return index;
	ARRAY_GROW(inventory->origins, inventory->nr_origins, inventory->cap_origins);
	index = (uint32_t)inventory->nr_origins++;
	inventory->origins[index] = (struct dwarf_origin){.file = key.file, .offset = key.offset};
	index_set_add(&inventory->origin_index, hash, index);
	return index;
}

/* One step from an entry to its abstract origin; false when it has none. */
static bool step_to_origin(struct origin_key *key)
{
	struct dwarf_unit *unit = dwarf_file_unit_at(key->file, key->offset);
	const struct abbrev *abbrev;
	struct dwarf_walk at;
	struct dwarf_entry entry;

	if (!unit || !unit->root_tag)
		return false;
	at = dwarf_walk_at(unit, key->offset);
	abbrev = abbrev_table_find(at.abbrevs, cursor_padded_uleb(&at.cursor));
	if (!abbrev)
		return false;
	dwarf_walk_read_entry(&at, abbrev, &entry, NULL);
	return entry.origin.form &&
	       dwarf_value_reference(unit, &entry.origin, &key->file, &key->offset);
}

/* The origin of the entry at `offset` with these attributes: mostly itself. */
static uint32_t origin_of(struct inventory_walk *walk, const struct dwarf_entry *entry,
			  uint64_t offset)
{
	struct origin_key key = {.file = walk->visit.at.unit->file, .offset = offset};

	if (entry->origin.form)
		dwarf_value_reference(walk->visit.at.unit, &entry->origin, &key.file, &key.offset);
	return intern_origin(walk->inventory, key);
}

static void add_definitions(struct inventory_walk *walk, uint32_t origin)
{
	struct dwarf_inventory *inventory = walk->inventory;

	inventory->origins[origin].has_code = true;
	for (size_t i = 0; i < walk->ranges.nr; i++) {
		const struct pc_range *range = &walk->ranges.rows[i];

		ARRAY_GROW(inventory->definitions, inventory->nr_definitions,
			   inventory->cap_definitions);
		inventory->definitions[inventory->nr_definitions] = (struct dwarf_definition){
			.start = range->low,
			.end = range->high,
			.origin = origin,
			.is_entry = i == 0, /* which compilers put first */
			.ordinal = (uint32_t)inventory->nr_definitions,
		};
		inventory->nr_definitions++;
	}
}

static void visit_function(struct inventory_walk *walk, const struct abbrev *abbrev,
			   uint64_t offset)
{
	struct dwarf_entry entry;

	if (!abbrev->has_pcs) {
		/* A declaration has only parameters below it, any other entry may have types with
		 * code. */
		if (abbrev->is_declaration) {
			dwarf_walk_skip_entry(&walk->visit.at, abbrev);
		} else {
			dwarf_visit_pass(&walk->visit, abbrev, false);
		}
		return;
	}
	dwarf_walk_read_entry(&walk->visit.at, abbrev, &entry, NULL);
	dwarf_read_ranges(walk->visit.at.unit, &entry.pcs, &walk->ranges);
	if (walk->ranges.nr)
		add_definitions(walk, origin_of(walk, &entry, offset));
	dwarf_visit_enter(&walk->visit, abbrev, walk->ranges.nr != 0);
}

static void visit_inlined(struct inventory_walk *walk, const struct abbrev *abbrev, uint64_t offset)
{
	bool is_live = dwarf_visit_level(&walk->visit) && abbrev->has_pcs;
	struct dwarf_entry entry;
	uint32_t origin;

	dwarf_walk_read_entry(&walk->visit.at, abbrev, &entry, NULL);
	if (is_live) {
		origin = origin_of(walk, &entry, offset); /* may move the origins */
		walk->inventory->origins[origin].nr_inlined++;
	}
	dwarf_visit_enter(&walk->visit, abbrev, is_live);
}

static void visit(struct dwarf_visit *at, const struct abbrev *abbrev, uint64_t offset)
{
	struct inventory_walk *walk = (struct inventory_walk *)at;

	switch (dwarf_entry_kind(abbrev->tag)) {
	case ENTRY_OTHER:
		dwarf_walk_skip_entry(&walk->visit.at, abbrev);
		break;
	case ENTRY_SPACE:
	case ENTRY_TYPE:
		dwarf_visit_pass(&walk->visit, abbrev, false);
		break;
	case ENTRY_FUNCTION:
		visit_function(walk, abbrev, offset);
		break;
	case ENTRY_INLINED:
		visit_inlined(walk, abbrev, offset);
		break;
	case ENTRY_BLOCK:
		dwarf_visit_pass(&walk->visit, abbrev, dwarf_visit_level(&walk->visit));
		break;
	}
}

/* By start, then in the order of the file. */
static int compare_definitions(const void *a, const void *b)
{
	const struct dwarf_definition *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->ordinal > right->ordinal) - (left->ordinal < right->ordinal);
}

/* With link-time optimisation copies refer to an entry that itself is an instance of another. */
static void follow_origins(struct dwarf_inventory *inventory)
{
	size_t nr = inventory->nr_origins;
	cleanup_free uint32_t *final = xcalloc(nr ? nr : 1, sizeof(*final));

	for (size_t i = 0; i < nr; i++) {
		struct origin_key key = {inventory->origins[i].file, inventory->origins[i].offset};
		int hops = 0;

		while (hops < MAX_ORIGIN_HOPS && step_to_origin(&key))
			hops++;
		final[i] = hops ? intern_origin(inventory, key) : (uint32_t)i;
		if (!hops)
			continue;
		inventory->origins[final[i]].nr_inlined += inventory->origins[i].nr_inlined;
		inventory->origins[final[i]].has_code |= inventory->origins[i].has_code;
		inventory->origins[i].nr_inlined = 0;
	}
	for (size_t i = 0; i < inventory->nr_definitions; i++)
		inventory->definitions[i].origin = final[inventory->definitions[i].origin];
}

void dwarf_inventory_read(struct dwarf_inventory *inventory, struct dwarf_file *file,
			  dwarf_code_unit *code_of, void *context)
{
	struct inventory_walk *walk = xcalloc(1, sizeof(*walk));

	walk->inventory = inventory;
	dwarf_file_renew_work(file);
	for (size_t i = 0; i < file->nr_units; i++) {
		struct dwarf_unit *unit = &file->units[i], *code;

		if (unit->root_tag != DW_TAG_compile_unit && unit->root_tag != DW_TAG_skeleton_unit)
			continue;
		code = code_of(context, unit);
		if (!code)
			code = unit;
		else if (code != unit)
			dwarf_file_renew_work(code->file);
		dwarf_unit_load(unit);
		dwarf_visit_unit(&walk->visit, code, false, visit);
		dwarf_unit_unload(unit);
	}
	follow_origins(inventory);
	if (inventory->nr_definitions)
		qsort(inventory->definitions, inventory->nr_definitions,
		      sizeof(*inventory->definitions), compare_definitions);
	range_list_release(&walk->ranges);
	free(walk);
}

void dwarf_inventory_release(struct dwarf_inventory *inventory)
{
	free(inventory->definitions);
	free(inventory->origins);
	index_set_release(&inventory->origin_index);
	*inventory = (struct dwarf_inventory){.nr_origins = 0};
}

const struct dwarf_definition *dwarf_inventory_at(const struct dwarf_inventory *inventory,
						  uint64_t address)
{
	size_t low = 0, high = inventory->nr_definitions;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (inventory->definitions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && inventory->definitions[low - 1].start == address
		       ? &inventory->definitions[low - 1]
		       : NULL;
}
