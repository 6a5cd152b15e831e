// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/familiar_names.h"

#include <string.h>

#include "symbol/elf_symbols.h"
#include "symbol/function_names.h"

#define INTERNAL "__GI_"

static bool is_internal(const char *name)
{
	return strncmp(name, INTERNAL, strlen(INTERNAL)) == 0;
}

bool is_inner_name(const char *name)
{
	return name[0] == '_' && name[1] != 'Z' && name[1] != 'R' && name[1] != 'D';
}

/* The symbol that is shown for the function of a level, or NULL. */
static const struct elf_symbol *symbol_of(const struct elf_symbols *symbols, const char *name,
					  bool is_outermost, uint64_t address)
{
	const struct elf_symbol *symbol;

	if (is_outermost)
		return elf_symbols_find(symbols, address);
	/* Outside glibc, inlined functions seldom have two names. */
	symbol = is_internal(name) ? elf_symbols_named(symbols, name) : NULL;
	return symbol ? elf_symbols_at(symbols, symbol->start) : NULL;
}

const char *familiar_name(struct name_pool *pool, const char *name)
{
	const char *bare = whole_function_name(pool, unversioned_name(pool, name));

	return is_internal(bare) ? name_pool_keep(pool, bare + strlen(INTERNAL)) : bare;
}

/* The name that callers use for a function with this name and symbol, which may be NULL. */
static const char *usual_name(struct name_pool *pool, const struct elf_symbol *symbol,
			      const char *name)
{
	const char *usual = symbol ? familiar_name(pool, symbol->name) : NULL;

	/* The linker folds functions with the same code into one. */
	return usual && strstr(name, usual) ? usual : familiar_name(pool, name);
}

void familiar_names_give(struct result_builder *builder, struct symbol_chain *chain,
			 const struct elf_symbols *symbols, uint64_t address)
{
	struct symbol_location *levels = &builder->result->locations[chain->first];

	for (uint32_t i = 0; i < chain->nr; i++) {
		struct symbol_location *level = &levels[i];
		bool is_outermost = i + 1 == chain->nr;
		const char *usual;

		if (!level->name || !is_inner_name(level->name))
			continue;
		usual = usual_name(&builder->pool,
				   symbol_of(symbols, level->name, is_outermost, address),
				   level->name);
		if (strcmp(usual, level->name) == 0)
			continue;
		if (!level->linkage_name)
			level->linkage_name = level->name;
		level->name = name_pool_keep(&builder->pool, usual);
	}
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The location of the "call" of such a part is the definition of the function. */
static bool is_part_of(const struct symbol_location *inlined, const struct symbol_location *caller)
{
	return caller->line && caller->line == caller->function_line &&
	       inlined->function_line == caller->function_line &&
	       is_same_text(inlined->name, caller->name) &&
	       is_same_text(inlined->function_file, caller->function_file);
}

void familiar_names_join_parts(struct result_builder *builder, struct symbol_chain *chain)
{
	struct symbol_location *levels = &builder->result->locations[chain->first];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < chain->nr; i++) {
		if (nr == 0 || !is_part_of(&levels[nr - 1], &levels[i]))
			levels[nr++] = levels[i];
	}
	chain->nr = nr;
}
