// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists the functions of a file. */
#include "symbol/functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/nearest.h"
#include "dwarf/dwarf_function.h"
#include "dwarf/dwarf_inventory.h"
#include "dwarf/dwarf_language.h"
#include "symbol/demangle.h"
#include "symbol/familiar_names.h"
#include "symbol/function_names.h"
#include "symbol/inlined_copies.h"
#include "symbol/name_index.h"
#include "symbol/symbol.h"
#include "symbol/symbol_priv.h"

/*
 * A function's entry, and the sources of its name. Searches go through the entries of all functions
 * of a file, most of them for nothing: an entry is small.
 */
struct entry {
	uint64_t address, end;		  /* as in the tables: with the object's bias */
	struct symbol_function *shown;	  /* owned, or in a block; NULL: not asked for yet */
	uint32_t first_alias, nr_aliases; /* range of the file's symbols; the last is shown */
	uint32_t definition;		  /* its index in the inventory, plus 1; 0: none */
	enum symbol_function_kind kind;
};

/* Memory of many results, most of which are forgotten together. */
struct block {
	struct symbol_function *rows; /* owned */
	size_t nr, cap;
};

struct symbol_functions {
	struct symbol_file *file; /* borrowed */
	struct dwarf_inventory inventory;
	struct inlined_copies copies;
	struct entry *entries; /* by address */
	size_t nr, cap;
	struct block *blocks; /* owned */
	size_t nr_blocks, cap_blocks;
	bool has_made_names;		 /* describe_made_names() was called */
	struct name_index linkage_names; /* entries by the names of their symbols; */
	bool has_linkage_names;		 /* it is made for the first search */
	struct name_pool pool;
};

static bool is_ended(const struct symbol_functions *functions)
{
	return has_ended(functions->file->object.ended);
}

static struct entry *add(struct symbol_functions *functions, uint64_t start, uint64_t end)
{
	struct entry *entry;

	ARRAY_GROW(functions->entries, functions->nr, functions->cap);
	entry = &functions->entries[functions->nr++];
	*entry = (struct entry){.address = start, .end = end};
	return entry;
}

static const struct elf_symbol *aliases_of(const struct symbol_functions *functions,
					   const struct entry *entry)
{
	return functions->file->symbols.rows + entry->first_alias;
}

/* Make room for the results of a search. */
static void add_block(struct symbol_functions *functions, size_t nr)
{
	ARRAY_GROW(functions->blocks, functions->nr_blocks, functions->cap_blocks);
	functions->blocks[functions->nr_blocks++] = (struct block){
		.rows = xcalloc(nr ? nr : 1, sizeof(struct symbol_function)), .cap = nr};
}

static void free_blocks(struct symbol_functions *functions)
{
	for (size_t i = 0; i < functions->nr_blocks; i++)
		free(functions->blocks[i].rows);
	free(functions->blocks);
	functions->blocks = NULL;
	functions->nr_blocks = functions->cap_blocks = 0;
}

static struct symbol_function *new_shown(const struct symbol_functions *functions)
{
	struct block *last =
		functions->nr_blocks ? &functions->blocks[functions->nr_blocks - 1] : NULL;

	return last && last->nr < last->cap ? &last->rows[last->nr++]
					    : xmalloc(sizeof(struct symbol_function));
}

static bool is_in_block(const struct symbol_functions *functions,
			const struct symbol_function *shown)
{
	for (size_t i = 0; i < functions->nr_blocks; i++) {
		const struct block *block = &functions->blocks[i];

		if (shown >= block->rows && shown < block->rows + block->cap)
			return true;
	}
	return false;
}

static void free_shown(const struct symbol_functions *functions, struct entry *entry)
{
	if (!is_in_block(functions, entry->shown))
		free(entry->shown);
	entry->shown = NULL;
}

/* The result of a search, for its caller; it stays where it is. */
static struct symbol_function *shown_of(const struct symbol_functions *functions,
					struct entry *entry)
{
	uint64_t bias = functions->file->object.address_bias;

	if (entry->shown)
		return entry->shown;
	entry->shown = new_shown(functions);
	*entry->shown = (struct symbol_function){
		.start = entry->address - bias,
		.end = entry->end - bias,
		.kind = entry->kind,
		.nr_inlined = SYMBOL_INLINED_UNKNOWN,
	};
	if (entry->nr_aliases)
		entry->shown->linkage_name =
			aliases_of(functions, entry)[entry->nr_aliases - 1].name;
	return entry->shown;
}

static bool has_name(const struct entry *entry)
{
	return entry->shown && entry->shown->name;
}

/* The name in Go's table of the function that begins there, or NULL. */
static const char *go_name_of(const struct symbol_functions *functions, const struct entry *entry)
{
	struct go_place place;

	return gopclntab_find(&functions->file->go, entry->address, &place) &&
			       place.start == entry->address
		       ? place.function
		       : NULL;
}

/* The end of the code of a symbol without a size; its start if the end is unknown. */
static uint64_t end_of_sizeless(const struct symbol_functions *functions,
				const struct elf_symbol *symbol)
{
	const struct cfi_search cfi = symbol_file_cfi(functions->file);
	uint64_t start, end;

	if (functions->file->object.address_bias ||
	    !cfi_search_function(&cfi, symbol->start, &start, &end) || start != symbol->start)
		return symbol->start;
	return end < symbol->end ? end : symbol->end;
}

/* Do symbols [first, first + nr), all of one address, mean that a function begins there? */
static bool is_entry(const struct symbol_file *file, size_t first, size_t nr)
{
	const struct elf_symbol *rows = file->symbols.rows + first, *shown = &rows[nr - 1];

	if (!shown->is_sized && plt_holds(&file->plt, shown->start))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (rows[i].is_function)
			return true;
	}
	/* Labels in assembly are functions too, unless another function contains them. */
	return elf_symbols_find(&file->symbols, shown->start)->start == shown->start;
}

static void add_symbols(struct symbol_functions *functions)
{
	const struct elf_symbols *symbols = &functions->file->symbols;

	ARRAY_RESERVE(functions->entries, symbols->nr, functions->cap);
	for (size_t first = 0, nr; first < symbols->nr && !is_ended(functions); first += nr) {
		const struct elf_symbol *rows = symbols->rows + first, *shown;
		struct entry *entry;

		for (nr = 1; first + nr < symbols->nr && rows[nr].start == rows[0].start; nr++)
			;
		if (!is_entry(functions->file, first, nr))
			continue;
		shown = &rows[nr - 1];
		entry = add(functions, shown->start,
			    shown->is_sized ? shown->end : end_of_sizeless(functions, shown));
		entry->first_alias = (uint32_t)first;
		entry->nr_aliases = (uint32_t)nr;
		if (shown->is_part)
			entry->kind = SYMBOL_FUNCTION_PART;
		for (size_t i = 0; i < nr; i++) {
			if (rows[i].is_resolver)
				entry->kind = SYMBOL_FUNCTION_IFUNC;
		}
	}
}

/* The entry at an address among the first nr, which are sorted, or NULL. */
static struct entry *entry_at(const struct symbol_functions *functions, size_t nr, uint64_t address)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (functions->entries[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < nr && functions->entries[low].address == address ? &functions->entries[low]
								      : NULL;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

/* If any were added to the first nr, which are in order. */
static void sort(struct symbol_functions *functions, size_t nr)
{
	if (functions->nr > nr)
		qsort(functions->entries, functions->nr, sizeof(*functions->entries),
		      compare_entries);
}

static void add_go_functions(struct symbol_functions *functions)
{
	const struct gopclntab *table = &functions->file->go;
	size_t nr = functions->nr;
	uint64_t address, before = 0;

	for (uint64_t i = 0; table->bytes.at && i < table->nr_functions; i++) {
		struct entry *entry;
		struct go_place place;

		if (!gopclntab_start(table, i, &address) || (i && address <= before) ||
		    !gopclntab_find(table, address, &place))
			continue;
		before = address;
		entry = entry_at(functions, nr, address);
		if (!entry)
			entry = add(functions, place.start, place.end);
		entry->kind = SYMBOL_FUNCTION_WHOLE; /* pkg.cold is an ordinary name */
	}
	sort(functions, nr);
}

/* Does a table already have the address, so that debug information adds no function there? */
static bool is_covered(const struct symbol_functions *functions, uint64_t address)
{
	struct go_place place;

	return elf_symbols_find(&functions->file->symbols, address) ||
	       gopclntab_find(&functions->file->go, address, &place);
}

static void add_definitions(struct symbol_functions *functions)
{
	const struct dwarf_inventory *inventory = &functions->inventory;
	size_t nr = functions->nr;

	for (size_t i = 0; i < inventory->nr_definitions && i < UINT32_MAX && !is_ended(functions);
	     i++) {
		const struct dwarf_definition *row = &inventory->definitions[i];
		struct entry *entry = entry_at(functions, nr, row->start);

		/* If several are at one address, the last one is shown. */
		if (i + 1 < inventory->nr_definitions && row[1].start == row->start)
			continue;
		if (!entry && is_covered(functions, row->start))
			continue;
		if (!entry) {
			entry = add(functions, row->start, row->end);
			if (!row->is_entry)
				entry->kind = SYMBOL_FUNCTION_PART;
		}
		entry->definition = (uint32_t)i + 1;
	}
	sort(functions, nr);
}

static struct dwarf_unit *code_of(void *split, struct dwarf_unit *unit)
{
	return split_dwarf_unit(split, unit);
}

struct symbol_functions *symbol_functions_new(struct symbol_file *file)
{
	struct symbol_functions *functions = xcalloc(1, sizeof(*functions));

	functions->file = file;
	name_pool_init(&functions->pool);
	if (file->mismatch)
		return functions;
	symbol_file_read_tables(file);
	add_symbols(functions);
	add_go_functions(functions);
	if (file->object.has_dwarf) {
		dwarf_inventory_read(&functions->inventory, &file->object.dwarf, code_of,
				     &file->object.split);
		add_definitions(functions);
	}
	return functions;
}

void symbol_functions_free(struct symbol_functions *functions)
{
	if (!functions)
		return;
	inlined_copies_release(&functions->copies);
	dwarf_inventory_release(&functions->inventory);
	name_pool_release(&functions->pool);
	name_index_release(&functions->linkage_names);
	for (size_t i = 0; i < functions->nr; i++)
		free_shown(functions, &functions->entries[i]);
	free_blocks(functions);
	free(functions->entries);
	free(functions);
}

void symbol_functions_trim(struct symbol_functions *functions)
{
	for (size_t i = 0; i < functions->nr; i++) {
		struct entry *entry = &functions->entries[i];

		if (!has_name(entry))
			free_shown(functions, entry);
		else if (is_in_block(functions, entry->shown))
			entry->shown = xmemdup(entry->shown, sizeof(*entry->shown));
	}
	free_blocks(functions);
	name_index_release(&functions->linkage_names);
	functions->has_linkage_names = false;
}

size_t symbol_functions_nr(const struct symbol_functions *functions)
{
	return functions->nr;
}

static const struct dwarf_definition *definition_of(const struct symbol_functions *functions,
						    const struct entry *entry)
{
	return &functions->inventory.definitions[entry->definition - 1];
}

static void read_definition(const struct symbol_functions *functions, const struct entry *entry,
			    struct dwarf_function *function)
{
	const struct dwarf_origin *origin =
		&functions->inventory.origins[definition_of(functions, entry)->origin];

	dwarf_read_function(origin->file, origin->offset, function);
}

/* Is this the name of a symbol, without its version? */
static bool is_alias(const struct elf_symbol *aliases, size_t nr, const char *linkage_name)
{
	size_t nr_bytes = strlen(linkage_name);

	for (size_t i = 0; i < nr; i++) {
		if (strncmp(aliases[i].name, linkage_name, nr_bytes) == 0 &&
		    (!aliases[i].name[nr_bytes] || aliases[i].name[nr_bytes] == '@'))
			return true;
	}
	return false;
}

static bool wants_all(const struct name_wanted *wanted)
{
	return !wanted->regex && !wanted->exact && !wanted->word;
}

static bool is_meant(const struct symbol_functions *functions, const struct name_wanted *wanted,
		     const struct entry *entry)
{
	const struct elf_symbol *aliases = aliases_of(functions, entry);
	struct dwarf_function function;
	const char *go_name;

	if (entry->nr_aliases && wants_all(wanted))
		return true;
	if (has_name(entry) && name_matches(wanted, entry->shown->name))
		return true;
	for (size_t i = entry->nr_aliases; i-- > 0;) {
		if (linkage_name_matches(wanted, aliases[i].name))
			return true;
	}
	go_name = go_name_of(functions, entry);
	if (go_name && name_matches(wanted, go_name))
		return true;
	if (!entry->definition)
		return false;
	read_definition(functions, entry, &function);
	/* Demangling takes most of the time: no name is tried twice. */
	return (function.linkage_name &&
		!is_alias(aliases, entry->nr_aliases, function.linkage_name) &&
		linkage_name_matches(wanted, function.linkage_name)) ||
	       (function.name && name_matches(wanted, function.name));
}

/*
 * A resolver has a name of its own in debug information (__new_memcpy_ifunc). The name of the
 * function that it chooses is more useful.
 */
static const char *name_of_choice(struct symbol_functions *functions, const struct entry *entry)
{
	const struct elf_symbol *aliases = aliases_of(functions, entry);

	for (size_t i = entry->nr_aliases; i-- > 0;) {
		if (aliases[i].is_resolver)
			return unversioned_name(&functions->pool, aliases[i].name);
	}
	return NULL;
}

/* Name the entry as reports name its code. */
static void take_names(struct symbol_functions *functions, struct entry *entry,
		       const struct symbol_result *result, const struct symbol_chain *chain)
{
	const struct elf_symbol *symbol =
		elf_symbols_find(&functions->file->symbols, entry->address);
	const struct symbol_location *outermost =
		chain->nr ? &result->locations[chain->first + chain->nr - 1] : NULL;
	struct symbol_function *shown = shown_of(functions, entry);
	const char *name = outermost ? outermost->name : NULL;

	/* Without debug information, the name is that of a function that contains the entry. */
	if (entry->nr_aliases && !entry->definition && symbol->start != entry->address &&
	    !go_name_of(functions, entry))
		name = NULL;
	if (name) {
		shown->name = name_pool_keep(&functions->pool, name);
		shown->file = name_pool_keep(&functions->pool, outermost->function_file);
		shown->line = outermost->function_line;
		if (!shown->linkage_name)
			shown->linkage_name =
				name_pool_keep(&functions->pool, outermost->linkage_name);
	} else if (shown->linkage_name) {
		shown->name = name_pool_demangle(
			&functions->pool, familiar_name(&functions->pool, shown->linkage_name));
	}
	if (shown->kind == SYMBOL_FUNCTION_IFUNC)
		shown->name =
			name_pool_demangle(&functions->pool, name_of_choice(functions, entry));
}

static void take_inlined(struct symbol_functions *functions, struct entry *entry)
{
	if (entry->definition)
		shown_of(functions, entry)->nr_inlined =
			inlined_copies_of(&functions->copies, &functions->inventory,
					  definition_of(functions, entry)->origin);
}

/* Name the entries without a name, in one pass. The entries ascend. */
static void describe(struct symbol_functions *functions, struct entry *const *entries, size_t nr)
{
	cleanup_free uint64_t *starts = xcalloc(nr ? nr : 1, sizeof(*starts));
	struct symbol_result *result;
	size_t nr_open = 0, at = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!has_name(entries[i]))
			starts[nr_open++] = shown_of(functions, entries[i])->start;
	}
	if (!nr_open)
		return;
	result = symbol_file_name(functions->file, starts, nr_open);
	for (size_t i = 0; i < nr; i++) {
		if (has_name(entries[i]))
			continue;
		take_names(functions, entries[i], result, &result->chains[at++]);
		take_inlined(functions, entries[i]);
	}
	symbol_result_free(result);
}

/* Is the name from debug information and its scopes different from that of the symbol? */
static bool has_made_name(const struct symbol_functions *functions, const struct entry *entry)
{
	struct dwarf_function function;
	uint16_t language;

	if (!entry->definition)
		return false;
	if (!entry->nr_aliases && !go_name_of(functions, entry))
		return true;
	read_definition(functions, entry, &function);
	language = function.name_unit ? function.name_unit->language : 0;
	return dwarf_language_is_ada(language) ||
	       (!function.linkage_name && dwarf_language_has_scopes(language));
}

/* Before a search, compose the names that only a resolution can compose. */
static void describe_made_names(struct symbol_functions *functions)
{
	struct entry **made;
	size_t nr = 0;

	if (functions->has_made_names)
		return;
	made = xcalloc(functions->nr ? functions->nr : 1, sizeof(struct entry *));
	for (size_t i = 0; i < functions->nr && !is_ended(functions); i++) {
		if (has_made_name(functions, &functions->entries[i]))
			made[nr++] = &functions->entries[i];
	}
	describe(functions, made, nr);
	functions->has_made_names = true;
	free(made);
}

static bool is_part_row(const struct symbol_functions *functions, const struct entry *entry)
{
	const struct elf_symbol *aliases = aliases_of(functions, entry);

	return entry->kind == SYMBOL_FUNCTION_PART && entry->nr_aliases &&
	       strstr(aliases[entry->nr_aliases - 1].name, ".part.");
}

/* Names without suffixes: others are mostly told by one bit, and need not be looked at. */
struct wholes {
	struct name_index names;
	uint8_t prints[UINT16_MAX / 8 + 1]; /* a bit for the lower half of each print */
};

static void add_whole(struct wholes *wholes, const struct elf_symbol *symbol)
{
	uint16_t bit = (uint16_t)symbol->whole_print;
	size_t nr_whole;

	bare_name_bytes(symbol->name, &nr_whole);
	name_index_add(&wholes->names, symbol->name, nr_whole, 0);
	wholes->prints[bit / 8] |= (uint8_t)(1u << bit % 8);
}

static bool is_whole(const struct wholes *wholes, const struct elf_symbol *symbol)
{
	uint16_t bit = (uint16_t)symbol->whole_print;
	size_t nr_whole;

	if (!(wholes->prints[bit / 8] & 1u << bit % 8))
		return false;
	bare_name_bytes(symbol->name, &nr_whole);
	return name_index_has(&wholes->names, symbol->name, nr_whole);
}

/* Has it a symbol that differs from one of these only in suffixes? */
static bool is_in(const struct symbol_functions *functions, const struct entry *entry,
		  const struct wholes *wholes)
{
	const struct elf_symbol *aliases = aliases_of(functions, entry);

	for (size_t i = 0; i < entry->nr_aliases; i++) {
		if (is_whole(wholes, &aliases[i]))
			return true;
	}
	return false;
}

/* Name the parts among entries, and the functions that they may be parts of. */
static void describe_divided(struct symbol_functions *functions, struct entry *const *entries,
			     size_t nr)
{
	struct wholes wholes = {.names = {.nr = 0}};
	struct entry **divided;
	size_t nr_divided = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!is_part_row(functions, entries[i]))
			continue;
		for (size_t j = 0; j < entries[i]->nr_aliases; j++)
			add_whole(&wholes, &aliases_of(functions, entries[i])[j]);
	}
	if (!wholes.names.nr)
		return;
	divided = xcalloc(nr, sizeof(struct entry *));
	for (size_t i = 0; i < nr; i++) {
		if (is_in(functions, entries[i], &wholes))
			divided[nr_divided++] = entries[i];
	}
	describe(functions, divided, nr_divided);
	free(divided);
	name_index_release(&wholes.names);
}

/* Names are in the order of the table, not of addresses: each of them would be waited for. */
#define NAMES_AHEAD 16

static void fetch_name(const struct symbol_functions *functions, size_t i)
{
	if (i < functions->nr && functions->entries[i].nr_aliases)
		__builtin_prefetch(aliases_of(functions, &functions->entries[i])->name);
}

/* The caller frees the array. */
static struct entry **all_meant(struct symbol_functions *functions,
				const struct name_wanted *wanted, size_t *nr)
{
	struct entry **meant = xcalloc(functions->nr ? functions->nr : 1, sizeof(struct entry *));

	*nr = 0;
	describe_made_names(functions);
	for (size_t i = 0; i < functions->nr && !is_ended(functions); i++) {
		if (!wants_all(wanted))
			fetch_name(functions, i + NAMES_AHEAD);
		if (is_meant(functions, wanted, &functions->entries[i]))
			meant[(*nr)++] = &functions->entries[i];
	}
	return meant;
}

static const struct symbol_function **find(struct symbol_functions *functions,
					   const struct name_wanted *wanted, size_t *nr)
{
	const struct symbol_function **found;
	size_t nr_meant;
	struct entry **meant = all_meant(functions, wanted, &nr_meant);

	describe(functions, meant, nr_meant);
	found = xcalloc(nr_meant ? nr_meant : 1, sizeof(const struct symbol_function *));
	*nr = 0;
	for (size_t i = 0; i < nr_meant; i++) {
		if (has_name(meant[i]))
			found[(*nr)++] = meant[i]->shown;
	}
	free(meant);
	return found;
}

const struct symbol_function *symbol_functions_before(struct symbol_functions *functions,
						      uint64_t address)
{
	uint64_t moved = address + functions->file->object.address_bias;
	size_t low = 0, high = functions->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (functions->entries[middle].address <= moved)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? shown_of(functions, &functions->entries[low - 1]) : NULL;
}

uint64_t *symbol_functions_starts(const struct symbol_functions *functions, size_t *nr)
{
	uint64_t bias = functions->file->object.address_bias;
	uint64_t *starts = xcalloc(functions->nr + 1, sizeof(*starts));

	for (size_t i = 0; i < functions->nr; i++)
		starts[i] = functions->entries[i].address - bias;
	*nr = functions->nr;
	return starts;
}

uint64_t symbol_functions_end(const struct symbol_functions *functions, size_t index,
			      enum symbol_function_kind *kind)
{
	const struct entry *entry = &functions->entries[index];

	*kind = entry->kind;
	return entry->end - functions->file->object.address_bias;
}

static void index_linkage_names(struct symbol_functions *functions)
{
	for (size_t i = 0; i < functions->nr && !functions->has_linkage_names; i++) {
		const struct entry *entry = &functions->entries[i];
		const struct elf_symbol *aliases = aliases_of(functions, entry);

		for (size_t j = 0; j < entry->nr_aliases; j++) {
			size_t nr_whole, nr = bare_name_bytes(aliases[j].name, &nr_whole);

			name_index_add(&functions->linkage_names, aliases[j].name, nr, (uint32_t)i);
			if (nr_whole != nr)
				name_index_add(&functions->linkage_names, aliases[j].name, nr_whole,
					       (uint32_t)i);
		}
	}
	functions->has_linkage_names = true;
}

const struct symbol_function **symbol_functions_linked_as(struct symbol_functions *functions,
							  const char *linkage_name, size_t *nr)
{
	const struct name_index *names = &functions->linkage_names;
	const struct symbol_function **found = NULL;
	size_t nr_found = 0, cap = 0;

	index_linkage_names(functions);
	for (uint32_t row = name_index_find(names, linkage_name); row != INDEX_NONE;
	     row = names->rows[row].next) {
		const struct symbol_function *function =
			shown_of(functions, &functions->entries[names->rows[row].element]);
		bool is_known = false;

		/* Two aliases of one function may become one name, as f.part.0 and f.cold. */
		for (size_t i = 0; i < nr_found; i++)
			is_known |= found[i] == function;
		if (is_known)
			continue;
		ARRAY_GROW(found, nr_found, cap);
		found[nr_found++] = function;
	}
	*nr = nr_found;
	return found;
}

/* Is it this name, with a version or suffixes at most? The print is that of the name. */
static bool is_linked_as(const struct elf_symbol *symbol, const char *name, size_t nr_bytes,
			 uint32_t print)
{
	const char *alias = symbol->name;
	size_t nr, nr_whole;

	/* A name that itself seems to have a suffix is looked at. */
	if ((symbol->whole_print != print && !memchr(name, '.', nr_bytes)) ||
	    strncmp(alias, name, nr_bytes) != 0)
		return false;
	nr = bare_name_bytes(alias, &nr_whole);
	return nr == nr_bytes || nr_whole == nr_bytes;
}

bool symbol_functions_has_linked_as(const struct symbol_functions *functions,
				    const char *linkage_name)
{
	size_t nr_bytes = strlen(linkage_name);
	uint32_t print = name_print(linkage_name, nr_bytes);

	if (functions->has_linkage_names)
		return name_index_find(&functions->linkage_names, linkage_name) != INDEX_NONE;
	for (size_t i = 0; i < functions->nr; i++) {
		const struct entry *entry = &functions->entries[i];
		const struct elf_symbol *aliases = aliases_of(functions, entry);

		for (size_t j = 0; j < entry->nr_aliases; j++) {
			if (is_linked_as(&aliases[j], linkage_name, nr_bytes, print))
				return true;
		}
	}
	return false;
}

static struct name_wanted wanted_of(const regex_t *regex, const char *word)
{
	return (struct name_wanted){
		.regex = regex,
		.word = word,
		.is_own_word = word && !symbol_demangle_has_word(word),
	};
}

const struct symbol_function **symbol_functions_find(struct symbol_functions *functions,
						     const regex_t *regex, const char *word,
						     size_t *nr)
{
	const struct name_wanted wanted = wanted_of(regex, word);

	return find(functions, &wanted, nr);
}

const struct symbol_function **symbol_functions_match(struct symbol_functions *functions,
						      const regex_t *regex, const char *word,
						      size_t *nr)
{
	const struct name_wanted wanted = wanted_of(regex, word);
	const struct symbol_function **found;
	size_t nr_meant, nr_nameless = 0;
	struct entry **meant = all_meant(functions, &wanted, &nr_meant);
	struct entry **nameless = xcalloc(nr_meant ? nr_meant : 1, sizeof(struct entry *));

	add_block(functions, nr_meant);
	/* Only those with a symbol have a name for certain. */
	for (size_t i = 0; i < nr_meant; i++) {
		if (!meant[i]->nr_aliases)
			nameless[nr_nameless++] = meant[i];
	}
	describe(functions, nameless, nr_nameless);
	free(nameless);
	describe_divided(functions, meant, nr_meant);
	/* Hardly any name is looked at from here on. */
	if (wants_all(&wanted))
		symbol_object_release_pages(&functions->file->object);
	found = xcalloc(nr_meant ? nr_meant : 1, sizeof(const struct symbol_function *));
	*nr = 0;
	for (size_t i = 0; i < nr_meant; i++) {
		if (!meant[i]->nr_aliases && !has_name(meant[i]))
			continue;
		if (!has_name(meant[i]))
			take_inlined(functions, meant[i]);
		found[(*nr)++] = shown_of(functions, meant[i]);
	}
	free(meant);
	return found;
}

void symbol_functions_name(struct symbol_functions *functions, const uint64_t *starts, size_t nr,
			   const char **names)
{
	struct entry **entries = xcalloc(nr ? nr : 1, sizeof(struct entry *));
	uint64_t bias = functions->file->object.address_bias;
	size_t nr_entries = 0, at = 0;

	for (size_t i = 0; i < nr; i++) {
		struct entry *entry = entry_at(functions, functions->nr, starts[i] + bias);

		if (entry)
			entries[nr_entries++] = entry;
	}
	describe(functions, entries, nr_entries);
	for (size_t i = 0; i < nr; i++) {
		bool is_known = at < nr_entries && entries[at]->address == starts[i] + bias;

		names[i] = is_known && has_name(entries[at]) ? entries[at]->shown->name : NULL;
		at += is_known;
	}
	free(entries);
}

const struct symbol_function **symbol_functions_called(struct symbol_functions *functions,
						       const char *name, size_t *nr)
{
	return find(functions, &(struct name_wanted){.exact = name}, nr);
}

/* Functions with one name count as one: each unit has its own copy of a header's static functions.
 */
static uint32_t copies_called(const struct inlined_copies *copies,
			      const struct inlined_function *function)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < copies->nr; i++) {
		const struct inlined_function *other = &copies->functions[i];

		if (other->name && strcmp(other->name, function->name) == 0)
			nr += other->nr;
	}
	return nr;
}

bool symbol_functions_find_inlined(struct symbol_functions *functions, const regex_t *regex,
				   struct symbol_inlined_function *found)
{
	const struct name_wanted wanted = {.regex = regex};
	const struct inlined_copies *copies = &functions->copies;
	const struct inlined_function *most = NULL;

	inlined_copies_count(&functions->copies, &functions->inventory);
	for (size_t i = 0; i < copies->nr; i++) {
		const struct inlined_function *row = &copies->functions[i];

		if (row->name && row->nr && !row->has_code && (!most || row->nr > most->nr) &&
		    linkage_name_matches(&wanted, row->name))
			most = row;
	}
	if (!most)
		return false;
	found->name = name_pool_demangle(&functions->pool, most->name);
	found->nr_inlined = copies_called(copies, most);
	return true;
}

/* An expression without anchors and backslashes: the name that the user meant. Caller frees. */
static char *plain_name(const char *pattern)
{
	char *plain = xcalloc(strlen(pattern) + 1, 1), *to = plain;

	for (const char *at = pattern + (*pattern == '^'); *at; at++) {
		if (*at != '\\' && !(*at == '$' && !at[1]))
			*to++ = *at;
	}
	return plain;
}

/* Append the short forms of an entry's names to an array. */
static void append_names(struct symbol_functions *functions, const struct entry *entry,
			 const char ***names, size_t *nr, size_t *cap)
{
	const struct elf_symbol *aliases = aliases_of(functions, entry);
	struct name_pool *pool = &functions->pool;
	const char *go_name = go_name_of(functions, entry);

	ARRAY_RESERVE(*names, *nr + entry->nr_aliases + 2, *cap);
	if (has_name(entry))
		(*names)[(*nr)++] = short_name(pool, entry->shown->name);
	if (go_name)
		(*names)[(*nr)++] = go_name;
	for (size_t i = entry->nr_aliases; i-- > 0;) {
		const char *bare = unversioned_name(pool, aliases[i].name);

		(*names)[(*nr)++] = short_name(pool, name_pool_demangle(pool, bare));
	}
}

const char *symbol_functions_nearest(struct symbol_functions *functions, const char *pattern)
{
	cleanup_free char *plain = plain_name(pattern);
	const char **names = NULL, *nearest;
	size_t nr = 0, cap = 0;

	describe_made_names(functions);
	for (size_t i = 0; i < functions->nr && !is_ended(functions); i++)
		append_names(functions, &functions->entries[i], &names, &nr, &cap);
	nearest = nearest_word(plain, names, nr);
	free(names);
	return nearest;
}
