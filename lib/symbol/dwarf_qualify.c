// SPDX-License-Identifier: GPL-2.0-or-later
/* Qualified names of functions that have no linkage name. */
#include "symbol/dwarf_qualify.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/demangled_name.h"
#include "dwarf/dwarf_function.h"
#include "dwarf/dwarf_walk.h"
#include "symbol/demangle.h"

/* Deeper than any source nests; bounds damaged files. */
#define MAX_LEVELS 256

/* The offsets of the entries directly below an entry. */
struct child_list {
	const struct dwarf_file *file;
	uint64_t parent;
	uint64_t *offsets;
	size_t nr, cap;
};

void qualifier_release(struct qualifier *qualifier)
{
	for (size_t i = 0; i < qualifier->nr; i++)
		free(qualifier->lists[i].offsets);
	free(qualifier->lists);
	index_set_release(&qualifier->index);
	*qualifier = (struct qualifier){.nr = 0};
}

static bool list_equal(const void *owner, uint32_t index, const void *key)
{
	const struct qualifier *qualifier = owner;
	const struct child_list *row = &qualifier->lists[index], *wanted = key;

	return row->file == wanted->file && row->parent == wanted->parent;
}

static void list_children(struct dwarf_unit *unit, struct child_list *list)
{
	struct dwarf_walk walk = dwarf_walk_at(unit, list->parent);
	const struct abbrev *abbrev = dwarf_walk_next(&walk);

	if (!abbrev || !abbrev->has_children)
		return;
	dwarf_walk_skip_attributes(&walk, abbrev);
	for (;;) {
		uint64_t offset = dwarf_unit_offset(unit, walk.cursor.at);

		abbrev = dwarf_walk_next(&walk);
		if (!abbrev)
			return;
		ARRAY_GROW(list->offsets, list->nr, list->cap);
		list->offsets[list->nr++] = offset;
		dwarf_walk_skip_entry(&walk, abbrev);
	}
}

static const struct child_list *children_of(struct qualifier *qualifier, struct dwarf_unit *unit,
					    uint64_t parent)
{
	struct child_list list = {.file = unit->file, .parent = parent};
	uint64_t hash = hash_mix(hash_u64((uintptr_t)unit->file), parent);
	uint32_t index = index_set_find(&qualifier->index, hash, list_equal, qualifier, &list);

	if (index != INDEX_NONE)
		return &qualifier->lists[index];
	list_children(unit, &list);
	ARRAY_GROW(qualifier->lists, qualifier->nr, qualifier->cap);
	index = (uint32_t)qualifier->nr;
	index_set_add(&qualifier->index, hash, index);
	qualifier->lists[qualifier->nr++] = list;
	return &qualifier->lists[index];
}

/* The child that is, or contains, the entry at `offset`; 0 if there is none. */
static uint64_t child_around(const struct child_list *list, uint64_t offset)
{
	size_t low = 0, high = list->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->offsets[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? list->offsets[low - 1] : 0;
}

/* A linkage name includes all enclosing scopes: it replaces what `out` has. */
static void append_function(struct dwarf_file *file, uint64_t offset, struct buf *out)
{
	struct dwarf_function function;

	dwarf_read_function(file, offset, &function);
	if (function.linkage_name) {
		cleanup_free char *demangled = symbol_demangle(function.linkage_name);
		cleanup_free char *shortened = demangled_name_shorten(demangled);

		buf_clear(out);
		buf_append_str(out, shortened);
	} else if (function.name) {
		buf_append_str(out, function.name);
	} else {
		return;
	}
	buf_append_str(out, "::");
}

static bool is_type(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_interface_type:
		return true;
	}
	return false;
}

bool qualifier_is_call(const char *name)
{
	static const char call[] = "operator()";
	size_t nr = strlen(call);

	/* With template arguments in a generic lambda; _FUN is what it is as a plain function. */
	return name && ((strncmp(name, call, nr) == 0 && (!name[nr] || name[nr] == '<')) ||
			strcmp(name, "_FUN") == 0);
}

/* Is another unnamed type of the same list on that line? */
static bool has_twin(struct dwarf_unit *unit, const struct child_list *list, uint64_t offset,
		     const struct dwarf_function *lambda)
{
	for (size_t i = 0; i < list->nr; i++) {
		struct dwarf_walk walk = dwarf_walk_at(unit, list->offsets[i]);
		const struct abbrev *abbrev = dwarf_walk_next(&walk);
		struct dwarf_function other;

		if (list->offsets[i] == offset || !abbrev || !is_type(abbrev->tag))
			continue;
		dwarf_read_function(unit->file, list->offsets[i], &other);
		if (!other.own_name && other.decl_line == lambda->decl_line &&
		    other.decl_file == lambda->decl_file)
			return true;
	}
	return false;
}

/* Lambdas are told apart by their lines, and on one line by their columns: {lambda:9}. */
static void append_lambda(struct dwarf_unit *unit, const struct child_list *list, uint64_t offset,
			  const struct dwarf_function *lambda, struct buf *out)
{
	buf_append_str(out, "{lambda");
	if (lambda->decl_line)
		buf_printf(out, ":%u", lambda->decl_line);
	if (lambda->decl_line && lambda->decl_column && has_twin(unit, list, offset, lambda))
		buf_printf(out, ":%u", lambda->decl_column);
	buf_append_byte(out, '}');
}

/* An unnamed type around an operator() is a lambda: no source can write one otherwise. */
static void append_level(struct dwarf_unit *unit, const struct child_list *list, uint64_t offset,
			 const char *below, struct buf *out)
{
	struct dwarf_walk walk = dwarf_walk_at(unit, offset);
	const struct abbrev *abbrev = dwarf_walk_next(&walk);
	struct dwarf_function entry;

	if (!abbrev)
		return;
	if (abbrev->tag == DW_TAG_subprogram) {
		append_function(unit->file, offset, out);
	} else if (abbrev->tag == DW_TAG_namespace || is_type(abbrev->tag)) {
		dwarf_read_function(unit->file, offset, &entry);
		if (entry.name)
			buf_append_str(out, entry.name);
		else if (abbrev->tag == DW_TAG_namespace)
			buf_append_str(out, "(anonymous namespace)");
		else if (qualifier_is_call(below))
			append_lambda(unit, list, offset, &entry, out);
		else
			buf_append_str(out, "{unnamed type}");
		buf_append_str(out, "::");
	}
}

void qualifier_append(struct qualifier *qualifier, const struct dwarf_function *function,
		      struct buf *out)
{
	struct dwarf_unit *unit = function->name_unit;
	uint64_t offset = function->name_offset;
	uint64_t at = unit->first_entry;

	for (int level = 0; level < MAX_LEVELS; level++) {
		const struct child_list *list = children_of(qualifier, unit, at);

		at = child_around(list, offset);
		if (at == 0 || at == offset)
			return;
		append_level(unit, list, at, function->own_name, out);
	}
}

void qualifier_place(struct qualifier *qualifier, struct dwarf_function *function)
{
	struct dwarf_unit *unit = function->name_unit;
	uint64_t at = unit->first_entry, around = 0;
	const struct abbrev *abbrev;
	struct dwarf_function type;
	struct dwarf_walk walk;

	for (int level = 0; level < MAX_LEVELS; level++) {
		at = child_around(children_of(qualifier, unit, at), function->name_offset);
		if (at == 0 || at == function->name_offset)
			break;
		around = at;
	}
	if (!around)
		return;
	walk = dwarf_walk_at(unit, around);
	abbrev = dwarf_walk_next(&walk);
	if (!abbrev || !is_type(abbrev->tag))
		return;
	dwarf_read_function(unit->file, around, &type);
	function->decl_unit = type.decl_unit;
	function->decl_file = type.decl_file;
	function->decl_line = type.decl_line;
}
