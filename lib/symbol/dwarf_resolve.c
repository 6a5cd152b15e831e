// SPDX-License-Identifier: GPL-2.0-or-later
/* Resolves addresses to functions, lines and inline chains from DWARF. */
#include "symbol/dwarf_resolve.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "dwarf/dwarf_function.h"
#include "dwarf/dwarf_language.h"
#include "dwarf/dwarf_line.h"
#include "dwarf/dwarf_scope.h"
#include "symbol/builder.h"
#include "symbol/closure_names.h"
#include "symbol/demangle.h"
#include "symbol/dwarf_qualify.h"
#include "symbol/split_dwarf.h"

/* A function with its texts in the result: read once, however often it is inlined. */
struct known_function {
	const struct dwarf_file *file;
	uint64_t offset;
	struct symbol_location as_location; /* without file, line and column */
};

/* A file number of a unit's line table as a path. */
struct known_path {
	const struct dwarf_unit *unit;
	uint64_t file;
	const char *path;
};

struct dwarf_resolver {
	struct split_dwarf *split;
	const uint64_t *addresses;
	size_t nr;
	struct result_builder *builder;
	struct known_function *functions;
	size_t nr_functions, cap_functions;
	struct index_set function_index;
	struct known_path *paths;
	size_t nr_paths, cap_paths;
	struct index_set path_index;
	struct qualifier qualifier;
};

/* The wanted addresses of one unit. */
struct unit_work {
	struct dwarf_unit *unit;
	struct dwarf_unit *code; /* with the functions: the same, or the rest of a skeleton */
	uint64_t *addresses;	 /* ascending */
	size_t *indexes;	 /* of each among the request's */
	size_t nr, cap_addresses, cap_indexes;
	struct line_match *matches;
	struct scope_table scopes;
};

static bool path_equal(const void *owner, uint32_t index, const void *key)
{
	const struct dwarf_resolver *resolver = owner;
	const struct known_path *row = &resolver->paths[index], *wanted = key;

	return row->unit == wanted->unit && row->file == wanted->file;
}

/* The path of a file number, kept by the result's pool, or NULL. */
static const char *path_of(struct dwarf_resolver *resolver, struct dwarf_unit *unit, uint64_t file)
{
	struct dwarf_unit *owner = unit->skeleton ? unit->skeleton : unit;
	struct known_path row = {.unit = owner, .file = file};
	uint64_t hash = hash_mix(hash_u64((uintptr_t)owner), file);
	uint32_t index = index_set_find(&resolver->path_index, hash, path_equal, resolver, &row);
	cleanup_free char *path = NULL;

	if (index != INDEX_NONE)
		return resolver->paths[index].path;
	path = line_file_path(owner, dwarf_unit_lines(owner), file);
	row.path = name_pool_keep(&resolver->builder->pool, path);
	ARRAY_GROW(resolver->paths, resolver->nr_paths, resolver->cap_paths);
	index_set_add(&resolver->path_index, hash, (uint32_t)resolver->nr_paths);
	resolver->paths[resolver->nr_paths++] = row;
	return row.path;
}

static bool function_equal(const void *owner, uint32_t index, const void *key)
{
	const struct dwarf_resolver *resolver = owner;
	const struct known_function *row = &resolver->functions[index], *wanted = key;

	return row->file == wanted->file && row->offset == wanted->offset;
}

static const char *name_of(struct dwarf_resolver *resolver, const struct dwarf_function *function,
			   const struct unit_work *work)
{
	struct name_pool *pool = &resolver->builder->pool;
	struct buf name = {.nr_bytes = 0};
	const char *kept;

	if (!function->name || resolver->builder->verbatim ||
	    !dwarf_language_has_scopes(work->code->language))
		return name_pool_keep(pool, function->name);
	qualifier_append(&resolver->qualifier, function, &name);
	buf_append_str(&name, function->name);
	kept = name_pool_keep(pool, buf_str(&name));
	buf_release(&name);
	return kept;
}

/*
 * The linkage name. If gcc gives none, as to entities local to a file, verbatim results take it
 * from the symbol table, as other tools do.
 */
static const char *linkage_name_of(struct dwarf_resolver *resolver,
				   const struct dwarf_function *function,
				   const struct unit_work *work, const struct scope *scope)
{
	struct result_builder *builder = resolver->builder;

	if (function->linkage_name || !builder->verbatim || scope->parent != SCOPE_NONE ||
	    !dwarf_language_has_scopes(work->code->language) || !scope->nr_ranges)
		return function->linkage_name;
	return builder->symbol_at(builder->symbol_context,
				  work->scopes.ranges.rows[scope->first_range].low);
}

/* Rust's linkage names call all closures of a function the same; debug information numbers them. */
static const char *number_closures(struct dwarf_resolver *resolver,
				   const struct dwarf_function *function, const char *name)
{
	struct buf qualified = {.nr_bytes = 0};

	if (!closure_is_in(name) || !function->own_name)
		return name;
	qualifier_append(&resolver->qualifier, function, &qualified);
	buf_append_str(&qualified, function->own_name);
	name = closure_numbered(&resolver->builder->pool, name, buf_str(&qualified));
	buf_release(&qualified);
	return name;
}

static const char *demangle_ada(struct name_pool *pool, const char *name)
{
	cleanup_free char *demangled = symbol_demangle_ada(name);

	return name_pool_keep(pool, demangled);
}

static struct symbol_location describe(struct dwarf_resolver *resolver,
				       const struct unit_work *work, const struct scope *scope)
{
	struct name_pool *pool = &resolver->builder->pool;
	struct dwarf_function function;
	struct symbol_location location = {.name = NULL};
	const char *linkage_name;
	bool ada;

	dwarf_read_function(scope->function_file, scope->function_offset, &function);
	ada = dwarf_language_is_ada(function.name_unit ? function.name_unit->language
						       : work->code->language);
	linkage_name = linkage_name_of(resolver, &function, work, scope);
	if (!linkage_name && ada) /* GNAT puts the linkage name there */
		linkage_name = function.name;
	if (!function.decl_unit && !resolver->builder->verbatim && qualifier_is_call(function.name))
		qualifier_place(&resolver->qualifier, &function);
	location.function_line = function.decl_line;
	if (linkage_name) {
		location.linkage_name = name_pool_keep(pool, linkage_name);
		location.name = ada ? demangle_ada(pool, linkage_name)
				    : name_pool_demangle(pool, linkage_name);
		if (location.name == location.linkage_name)
			location.linkage_name = NULL;
		if (!resolver->builder->verbatim)
			location.name = number_closures(resolver, &function, location.name);
	} else {
		location.name = name_of(resolver, &function, work);
	}
	if (function.decl_unit)
		location.function_file = path_of(resolver, function.decl_unit, function.decl_file);
	return location;
}

static const struct symbol_location *function_of(struct dwarf_resolver *resolver,
						 const struct unit_work *work,
						 const struct scope *scope)
{
	struct known_function row = {.file = scope->function_file,
				     .offset = scope->function_offset};
	uint64_t hash = hash_mix(hash_u64((uintptr_t)row.file), row.offset);
	uint32_t index =
		index_set_find(&resolver->function_index, hash, function_equal, resolver, &row);

	if (index != INDEX_NONE)
		return &resolver->functions[index].as_location;
	row.as_location = describe(resolver, work, scope);
	ARRAY_GROW(resolver->functions, resolver->nr_functions, resolver->cap_functions);
	index = (uint32_t)resolver->nr_functions;
	index_set_add(&resolver->function_index, hash, index);
	resolver->functions[resolver->nr_functions++] = row;
	return &resolver->functions[index].as_location;
}

/* A place in the source: of a row of the line table, or of a call. */
struct place {
	const char *file;
	uint32_t line, column, discriminator;
};

static struct place place_of_row(struct dwarf_resolver *resolver, struct dwarf_unit *unit,
				 const struct line_row *row)
{
	return (struct place){
		.file = path_of(resolver, unit, row->file),
		.line = row->line,
		.column = row->column,
		.discriminator = row->discriminator,
	};
}

static struct place place_of_call(struct dwarf_resolver *resolver, struct dwarf_unit *unit,
				  const struct scope *scope)
{
	return (struct place){
		.file = path_of(resolver, unit, scope->call_file),
		.line = scope->call_line,
		.column = scope->call_column,
	};
}

/*
 * Compilers give line 0 to code of no particular line. The previous line in the same function is
 * more useful; else the call of the function, or its start.
 */
static struct place innermost_place(struct dwarf_resolver *resolver, const struct unit_work *work,
				    size_t at)
{
	const struct line_match *match = &work->matches[at];
	uint32_t scope = work->scopes.of_address[at];
	const struct scope *row = scope == SCOPE_NONE ? NULL : &work->scopes.rows[scope];
	const struct symbol_location *function;

	if (!match->found)
		return (struct place){.file = NULL};
	if (match->row.line || resolver->builder->verbatim)
		return place_of_row(resolver, work->unit, &match->row);
	if (match->has_previous &&
	    (!row || scope_contains(&work->scopes, scope, match->previous.address)))
		return place_of_row(resolver, work->unit, &match->previous);
	if (!row)
		return place_of_row(resolver, work->unit, &match->row);
	if (row->parent != SCOPE_NONE && row->call_line)
		return place_of_call(resolver, work->unit, row);
	function = function_of(resolver, work, row);
	return (struct place){.file = function->function_file, .line = function->function_line};
}

static void add_level(struct dwarf_resolver *resolver, const struct symbol_location *function,
		      const struct place *place)
{
	struct symbol_location location = *function;

	location.file = place->file;
	location.line = place->line;
	location.column = place->column;
	location.discriminator = place->discriminator;
	result_builder_add(resolver->builder, &location);
}

static void emit_chain(struct dwarf_resolver *resolver, const struct unit_work *work, size_t at)
{
	static const struct symbol_location unknown = {.name = NULL};
	uint32_t scope = work->scopes.of_address[at];
	struct place place;

	if (scope == SCOPE_NONE && !work->matches[at].found)
		return;
	result_builder_begin(resolver->builder, work->indexes[at]);
	place = innermost_place(resolver, work, at);
	if (scope == SCOPE_NONE) {
		add_level(resolver, &unknown, &place);
		return;
	}
	while (scope != SCOPE_NONE) {
		const struct scope *row = &work->scopes.rows[scope];

		add_level(resolver, function_of(resolver, work, row), &place);
		place = place_of_call(resolver, work->unit, row);
		scope = row->parent;
	}
}

static int compare_indexes(const void *a, const void *b)
{
	const size_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Collect the requested addresses in the unit's ranges that no earlier unit resolved. */
static void collect_addresses(const struct dwarf_resolver *resolver,
			      const struct range_list *ranges, struct unit_work *work)
{
	size_t nr_distinct = 0;

	work->nr = 0;
	for (size_t i = 0; i < ranges->nr; i++) {
		size_t first = addresses_at_or_above(resolver->addresses, resolver->nr,
						     ranges->rows[i].low);
		size_t at = first;

		for (; at < resolver->nr && resolver->addresses[at] < ranges->rows[i].high; at++) {
			if (!result_builder_is_open(resolver->builder, at))
				continue;
			ARRAY_GROW(work->indexes, work->nr, work->cap_indexes);
			work->indexes[work->nr++] = at;
		}
		if (!dwarf_file_work(work->unit->file, at - first))
			break;
	}
	if (!work->nr)
		return;
	qsort(work->indexes, work->nr, sizeof(*work->indexes), compare_indexes);
	ARRAY_RESERVE(work->addresses, work->nr, work->cap_addresses);
	for (size_t i = 0; i < work->nr; i++) {
		if (i && work->indexes[i] == work->indexes[i - 1])
			continue;
		work->indexes[nr_distinct] = work->indexes[i];
		work->addresses[nr_distinct++] = resolver->addresses[work->indexes[i]];
	}
	work->nr = nr_distinct;
}

/* Is an address in no function? Code in assembly may have a line all the same. */
static bool has_nameless(const struct unit_work *work)
{
	for (size_t at = 0; at < work->nr; at++) {
		if (work->scopes.of_address[at] == SCOPE_NONE)
			return true;
	}
	return false;
}

/* Lines, and the functions around them. Line tables of large units take longer than these. */
static void match(const struct dwarf_resolver *resolver, struct unit_work *work)
{
	struct dwarf_unit *unit = work->unit;
	bool only_names = resolver->builder->only_names;

	work->matches = xcalloc(work->nr, sizeof(*work->matches));
	if (!only_names)
		dwarf_match_lines(unit, work->addresses, work->nr, work->matches);
	dwarf_unit_load(unit);
	dwarf_match_scopes(work->code, work->addresses, work->nr, &work->scopes);
	if (only_names && has_nameless(work)) {
		dwarf_match_lines(unit, work->addresses, work->nr, work->matches);
		dwarf_unit_load(unit); /* lines are read to the same memory */
	}
}

static void resolve_unit(struct dwarf_resolver *resolver, struct unit_work *work)
{
	struct dwarf_unit *unit = work->unit;

	work->code = split_dwarf_unit(resolver->split, unit);
	if (!work->code)
		work->code = unit;
	else if (work->code != unit)
		dwarf_file_renew_work(work->code->file);
	match(resolver, work);
	for (size_t at = 0; at < work->nr && !has_ended(unit->file->ended); at++)
		emit_chain(resolver, work, at);
	dwarf_unit_unload(unit);
	scope_table_release(&work->scopes);
	free(work->matches);
}

static bool may_hold_code(const struct dwarf_unit *unit)
{
	return unit->root_tag == DW_TAG_compile_unit || unit->root_tag == DW_TAG_skeleton_unit;
}

/* .debug_aranges is not used: clang writes none, and the ranges in the unit always exist. */
static bool resolve_by_unit_ranges(struct dwarf_resolver *resolver, struct dwarf_file *file,
				   struct unit_work *work)
{
	struct range_list ranges = {.nr = 0};
	bool any_ranges = false;

	for (size_t i = 0; i < file->nr_units; i++) {
		work->unit = &file->units[i];
		if (!may_hold_code(work->unit))
			continue;
		dwarf_read_ranges(work->unit, &work->unit->pcs, &ranges);
		any_ranges |= ranges.nr != 0;
		collect_addresses(resolver, &ranges, work);
		if (work->nr)
			resolve_unit(resolver, work);
	}
	range_list_release(&ranges);
	return any_ranges;
}

/* Some old compilers write no ranges for units: then all units must be read. */
static void resolve_without_ranges(struct dwarf_resolver *resolver, struct dwarf_file *file,
				   struct unit_work *work)
{
	struct pc_range all = {.low = 0, .high = UINT64_MAX};
	struct range_list everything = {.rows = &all, .nr = 1, .cap = 1};

	for (size_t i = 0; i < file->nr_units; i++) {
		work->unit = &file->units[i];
		if (!may_hold_code(work->unit))
			continue;
		collect_addresses(resolver, &everything, work);
		if (work->nr)
			resolve_unit(resolver, work);
	}
}

void dwarf_resolve(struct dwarf_file *file, struct split_dwarf *split, const uint64_t *addresses,
		   size_t nr, struct result_builder *builder)
{
	struct dwarf_resolver resolver = {
		.split = split, .addresses = addresses, .nr = nr, .builder = builder};
	struct unit_work work = {.unit = NULL};

	dwarf_file_renew_work(file);
	if (!resolve_by_unit_ranges(&resolver, file, &work))
		resolve_without_ranges(&resolver, file, &work);
	free(work.addresses);
	free(work.indexes);
	free(resolver.functions);
	free(resolver.paths);
	index_set_release(&resolver.function_index);
	index_set_release(&resolver.path_index);
	qualifier_release(&resolver.qualifier);
}
