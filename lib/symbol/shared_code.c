// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/shared_code.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/demangled_name.h"
#include "symbol/elf_symbols.h"
#include "symbol/familiar_names.h"

/* One empty destructor may stand for thousands. */
#define BYTES_MAX 16384
/* They are looked at for each address: of more symbols at one place the others are not shown. */
#define SYMBOLS_MAX 1024

static bool is_listed(const char *list, const char *name)
{
	size_t nr = strlen(name);

	for (const char *at = strstr(list, name); at; at = strstr(at + 1, name)) {
		if ((at == list || at[-1] == '\n') && (at[nr] == '\0' || at[nr] == '\n'))
			return true;
	}
	return false;
}

/* Is it a name of the same function, for the library that it is in? */
static bool is_of_library(const char *name, const char *shown)
{
	return is_inner_name(name) && strstr(name, shown);
}

/* Debug information has functions of one file without parameters: "scale" for scale(int, int). */
static bool lacks_parameters(const char *shown, const char *name)
{
	const char *bare = demangled_name_without_result(name);
	size_t nr = strlen(shown);

	return strncmp(bare, shown, nr) == 0 && bare[nr] == '(';
}

/*
 * Was the address named by this symbol? Debug information, which may have another name for the same
 * function, mostly has a line of it.
 */
static bool is_named_by(const struct symbol_location *outermost, const struct elf_symbol *symbol)
{
	const char *name = outermost->linkage_name ? outermost->linkage_name : outermost->name;

	return !outermost->function_line && strcmp(name, symbol->name) == 0;
}

static void add_name(struct buf *list, struct name_pool *pool, const char *linkage_name,
		     const char *shown)
{
	const char *bare = familiar_name(pool, linkage_name);
	const char *name = name_pool_demangle(pool, bare);

	if (is_of_library(name, shown) || strcmp(name, shown) == 0 ||
	    lacks_parameters(shown, name) || is_listed(buf_str(list), name) ||
	    list->nr_bytes + strlen(name) > BYTES_MAX)
		return;
	if (list->nr_bytes)
		buf_append_byte(list, '\n');
	buf_append_str(list, name);
}

void shared_code_tell(struct result_builder *builder, const struct symbol_chain *chain,
		      const struct elf_symbols *symbols, uint64_t address)
{
	struct symbol_location *outermost =
		&builder->result->locations[chain->first + chain->nr - 1];
	const struct elf_symbol *symbol = elf_symbols_find(symbols, address), *first = symbol, *end;
	struct buf list = {0};

	if (!symbol || !symbol->is_sized)
		return;
	while (first > symbols->rows && first[-1].start == symbol->start &&
	       symbol - first < SYMBOLS_MAX)
		first--;
	end = symbols->rows + symbols->nr - first > SYMBOLS_MAX ? first + SYMBOLS_MAX
								: symbols->rows + symbols->nr;
	for (; first < end && first->start == symbol->start; first++) {
		if (first->is_function && first->end == symbol->end &&
		    !is_named_by(outermost, first))
			add_name(&list, &builder->pool, first->name, outermost->name);
	}
	if (list.nr_bytes)
		outermost->shared = name_pool_keep(&builder->pool, buf_str(&list));
	buf_release(&list);
}
