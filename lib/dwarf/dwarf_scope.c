// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the functions around addresses in one pass over a unit. */
#include "dwarf/dwarf_scope.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "dwarf/dwarf_visit.h"

/*
 * The first pass enters what usually contains code: namespaces, and functions that hold a wanted
 * address. For addresses not found, a second pass also enters lambdas and local classes: their code
 * is below types within functions, often below functions without own code. The last pass enters
 * everything.
 */
enum pass {
	PASS_SPACES,
	PASS_FUNCTIONS,
	PASS_EVERYTHING,
};

/* A level is the scope that encloses its entries. */
struct scope_walk {
	struct dwarf_visit visit; /* first */
	const uint64_t *addresses;
	size_t nr;
	struct scope_table *table;
	struct range_list ranges; /* of the entry at hand */
	enum pass pass;
	uint32_t function_depth; /* the depth of the outermost function's entries; 0: in none */
};

/* The attributes that matter here. */
struct entry {
	uint64_t offset;
	struct dwarf_entry code;
	struct dwarf_call call;
};

static void read_entry(struct scope_walk *walk, const struct abbrev *abbrev, uint64_t offset,
		       struct entry *entry)
{
	entry->offset = offset;
	dwarf_walk_read_entry(&walk->visit.at, abbrev, &entry->code, &entry->call);
}

/* Does any wanted address lie in the ranges of the entry at hand? */
static bool holds_address(const struct scope_walk *walk)
{
	for (size_t i = 0; i < walk->ranges.nr; i++) {
		size_t at =
			addresses_at_or_above(walk->addresses, walk->nr, walk->ranges.rows[i].low);

		if (at < walk->nr && walk->addresses[at] < walk->ranges.rows[i].high)
			return true;
	}
	return false;
}

/*
 * May `scope` become the innermost one of an address that now has `present`?
 * Inlined code belongs to its own function only. Functions that share their
 * code (folded by the linker) do not mix: the last one takes it all, except in
 * the second pass, which is for what the first one left open.
 */
static bool may_take(const struct scope_walk *walk, const struct scope *scope, uint32_t present)
{
	if (scope->parent != SCOPE_NONE)
		return present != SCOPE_NONE && walk->table->rows[present].root == scope->root;
	return present == SCOPE_NONE || walk->pass == PASS_SPACES;
}

static bool take_addresses(struct scope_walk *walk, const struct scope *scope, uint32_t id)
{
	bool any = false;

	for (size_t i = 0; i < walk->ranges.nr; i++) {
		const struct pc_range *range = &walk->ranges.rows[i];
		size_t first = addresses_at_or_above(walk->addresses, walk->nr, range->low),
		       at = first;

		for (; at < walk->nr && walk->addresses[at] < range->high; at++) {
			if (may_take(walk, scope, walk->table->of_address[at])) {
				walk->table->of_address[at] = id;
				any = true;
			}
		}
		if (!dwarf_file_work(walk->visit.at.unit->file, at - first))
			return any;
	}
	return any;
}

static void keep_ranges(struct scope_walk *walk, struct scope *scope)
{
	struct range_list *kept = &walk->table->ranges;

	scope->first_range = (uint32_t)kept->nr;
	scope->nr_ranges = (uint32_t)walk->ranges.nr;
	for (size_t i = 0; i < walk->ranges.nr; i++) {
		ARRAY_GROW(kept->rows, kept->nr, kept->cap);
		kept->rows[kept->nr++] = walk->ranges.rows[i];
	}
}

static uint32_t narrow(uint64_t number)
{
	return number > UINT32_MAX ? 0 : (uint32_t)number;
}

/* A scope for the entry if it holds wanted addresses, or SCOPE_NONE. */
static uint32_t add_scope(struct scope_walk *walk, const struct entry *entry, uint32_t parent)
{
	struct scope_table *table = walk->table;
	uint32_t id = (uint32_t)table->nr;
	struct scope scope = {
		.parent = parent,
		.root = parent == SCOPE_NONE ? id : table->rows[parent].root,
		.function_file = walk->visit.at.unit->file,
		.function_offset = entry->offset,
		.call_file = entry->call.file.number,
		.call_line = narrow(entry->call.line.number),
		.call_column = narrow(entry->call.column.number),
	};

	ARRAY_GROW(table->rows, table->nr, table->cap);
	table->rows[id] = scope; /* counted only when it holds something */
	if (!take_addresses(walk, &scope, id))
		return SCOPE_NONE;
	if (parent != SCOPE_NONE)
		dwarf_value_reference(walk->visit.at.unit, &entry->code.origin,
				      &scope.function_file, &scope.function_offset);
	keep_ranges(walk, &scope);
	table->rows[table->nr++] = scope;
	return id;
}

static void enter_function(struct scope_walk *walk, const struct abbrev *abbrev, uint32_t scope)
{
	dwarf_visit_enter(&walk->visit, abbrev, scope);
	if (abbrev->has_children && !walk->function_depth)
		walk->function_depth = walk->visit.depth;
}

static void visit_function(struct scope_walk *walk, const struct abbrev *abbrev, uint64_t offset)
{
	struct entry entry;
	const struct cursor start = walk->visit.at.cursor;
	uint32_t scope;

	if (!abbrev->has_pcs) {
		/* A declaration has only parameters below it: local types are in the definition. */
		if (walk->pass == PASS_SPACES || abbrev->is_declaration) {
			dwarf_walk_skip_entry(&walk->visit.at, abbrev);
		} else {
			dwarf_walk_skip_attributes(&walk->visit.at, abbrev);
			enter_function(walk, abbrev, SCOPE_NONE);
		}
		return;
	}
	read_entry(walk, abbrev, offset, &entry);
	dwarf_read_ranges(walk->visit.at.unit, &entry.code.pcs, &walk->ranges);
	scope = add_scope(walk, &entry, SCOPE_NONE);
	if (scope != SCOPE_NONE || walk->pass != PASS_SPACES) {
		enter_function(walk, abbrev, scope);
	} else {
		walk->visit.at.cursor = start;
		dwarf_walk_skip_entry(&walk->visit.at, abbrev);
	}
}

static void visit_inlined(struct scope_walk *walk, const struct abbrev *abbrev, uint64_t offset)
{
	struct entry entry;
	const struct cursor start = walk->visit.at.cursor;
	uint32_t parent = dwarf_visit_level(&walk->visit), scope = SCOPE_NONE;

	if (parent != SCOPE_NONE && abbrev->has_pcs) {
		read_entry(walk, abbrev, offset, &entry);
		dwarf_read_ranges(walk->visit.at.unit, &entry.code.pcs, &walk->ranges);
		scope = add_scope(walk, &entry, parent);
	}
	if (scope != SCOPE_NONE) {
		dwarf_visit_enter(&walk->visit, abbrev, scope);
	} else {
		walk->visit.at.cursor = start;
		dwarf_walk_skip_entry(&walk->visit.at, abbrev);
	}
}

static void visit_block(struct scope_walk *walk, const struct abbrev *abbrev, uint64_t offset)
{
	struct entry entry;
	const struct cursor start = walk->visit.at.cursor;
	uint32_t parent = dwarf_visit_level(&walk->visit);

	if (parent != SCOPE_NONE && abbrev->has_pcs && walk->pass == PASS_SPACES) {
		read_entry(walk, abbrev, offset, &entry);
		dwarf_read_ranges(walk->visit.at.unit, &entry.code.pcs, &walk->ranges);
		walk->visit.at.cursor = start;
		if (!holds_address(walk)) {
			dwarf_walk_skip_entry(&walk->visit.at, abbrev);
			return;
		}
	}
	dwarf_visit_pass(&walk->visit, abbrev, parent);
}

static void visit(struct dwarf_visit *at, const struct abbrev *abbrev, uint64_t offset)
{
	struct scope_walk *walk = (struct scope_walk *)at;

	if (at->depth < walk->function_depth)
		walk->function_depth = 0; /* the function is over */
	switch (dwarf_entry_kind(abbrev->tag)) {
	case ENTRY_OTHER:
		dwarf_walk_skip_entry(&walk->visit.at, abbrev);
		break;
	case ENTRY_SPACE:
		dwarf_visit_pass(&walk->visit, abbrev, SCOPE_NONE);
		break;
	case ENTRY_TYPE:
		if (walk->pass == PASS_EVERYTHING ||
		    (walk->pass == PASS_FUNCTIONS && walk->function_depth))
			dwarf_visit_pass(&walk->visit, abbrev, SCOPE_NONE);
		else
			dwarf_walk_skip_entry(&walk->visit.at, abbrev);
		break;
	case ENTRY_FUNCTION:
		visit_function(walk, abbrev, offset);
		break;
	case ENTRY_INLINED:
		visit_inlined(walk, abbrev, offset);
		break;
	case ENTRY_BLOCK:
		visit_block(walk, abbrev, offset);
		break;
	}
}

static void walk_unit(struct scope_walk *walk, struct dwarf_unit *unit)
{
	walk->function_depth = 0;
	dwarf_visit_unit(&walk->visit, unit, SCOPE_NONE, visit);
}

static bool any_open(const struct scope_table *table, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (table->of_address[i] == SCOPE_NONE)
			return true;
	}
	return false;
}

void scope_table_release(struct scope_table *table)
{
	free(table->rows);
	free(table->of_address);
	range_list_release(&table->ranges);
	*table = (struct scope_table){.nr = 0};
}

void dwarf_match_scopes(struct dwarf_unit *unit, const uint64_t *addresses, size_t nr,
			struct scope_table *table)
{
	struct scope_walk *walk = xcalloc(1, sizeof(*walk));

	walk->addresses = addresses;
	walk->nr = nr;
	walk->table = table;
	table->of_address = xmalloc((nr ? nr : 1) * sizeof(*table->of_address));
	for (size_t i = 0; i < nr; i++)
		table->of_address[i] = SCOPE_NONE;
	walk_unit(walk, unit);
	while (walk->pass != PASS_EVERYTHING && any_open(table, nr)) {
		walk->pass++;
		walk_unit(walk, unit);
	}
	range_list_release(&walk->ranges);
	free(walk);
}

bool scope_contains(const struct scope_table *table, uint32_t scope, uint64_t address)
{
	const struct scope *row = &table->rows[scope];

	for (uint32_t i = 0; i < row->nr_ranges; i++) {
		const struct pc_range *range = &table->ranges.rows[row->first_range + i];

		if (address >= range->low && address < range->high)
			return true;
	}
	return false;
}
