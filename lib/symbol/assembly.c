// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/assembly.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "symbol/dwarf_parallel.h"
#include "symbol/elf_symbols.h"

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Start addresses of the functions in assembly, each once, ascending. The caller frees them. */
static uint64_t *find_starts(const struct elf_symbols *symbols, const uint64_t *addresses,
			     const bool *is_assembly, size_t nr, size_t *nr_starts)
{
	uint64_t *starts = xcalloc(nr + 1, sizeof(*starts));
	size_t nr_all = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct elf_symbol *symbol =
			is_assembly[i] ? elf_symbols_find(symbols, addresses[i]) : NULL;

		if (symbol)
			starts[nr_all++] = symbol->start;
	}
	qsort(starts, nr_all, sizeof(*starts), compare_addresses);
	*nr_starts = 0;
	for (size_t i = 0; i < nr_all; i++) {
		if (i == 0 || starts[i] != starts[i - 1])
			starts[(*nr_starts)++] = starts[i];
	}
	return starts;
}

/* The location, by the line tables, of the start of the function at an address, or NULL. */
static const struct symbol_location *definition_of(const struct symbol_result *definitions,
						   const uint64_t *starts, size_t nr_starts,
						   const struct elf_symbol *symbol)
{
	const uint64_t *found = symbol ? bsearch(&symbol->start, starts, nr_starts, sizeof(*starts),
						 compare_addresses)
				       : NULL;
	const struct symbol_chain *chain = found ? &definitions->chains[found - starts] : NULL;

	return chain && chain->nr ? &definitions->locations[chain->first + chain->nr - 1] : NULL;
}

void assembly_define(struct symbol_object *object, const struct elf_symbols *symbols,
		     const uint64_t *addresses, const bool *is_assembly, size_t nr,
		     struct result_builder *builder)
{
	size_t nr_starts;
	cleanup_free uint64_t *starts =
		find_starts(symbols, addresses, is_assembly, nr, &nr_starts);
	struct result_builder part;
	struct symbol_result *definitions;

	if (!nr_starts)
		return;
	result_builder_init(&part, nr_starts);
	dwarf_resolve_parallel(object, starts, nr_starts, 1, &part);
	definitions = result_builder_finish(&part);
	for (size_t i = 0; i < nr; i++) {
		const struct symbol_chain *chain = &builder->result->chains[i];
		const struct symbol_location *definition;
		struct symbol_location *function;

		if (!is_assembly[i])
			continue;
		definition = definition_of(definitions, starts, nr_starts,
					   elf_symbols_find(symbols, addresses[i]));
		if (!definition)
			continue;
		function = &builder->result->locations[chain->first + chain->nr - 1];
		function->function_file = name_pool_keep(&builder->pool, definition->file);
		function->function_line = definition->line;
	}
	symbol_result_free(definitions);
}
