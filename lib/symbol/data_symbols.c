// SPDX-License-Identifier: GPL-2.0-or-later
/* Variables of an ELF file by address, for the names of locks. */
#include "symbol/data_symbols.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "symbol/object.h"
#include "symbol/symbol_tables.h"

bool data_symbols_hold(const struct symbol_object *object, uint64_t address)
{
	const uint64_t wanted = SHF_ALLOC | SHF_WRITE;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(object->elf, section))) {
		if (gelf_getshdr(section, &header) && (header.sh_flags & wanted) == wanted &&
		    !(header.sh_flags & (SHF_TLS | SHF_EXECINSTR)) && address >= header.sh_addr &&
		    address - header.sh_addr < header.sh_size)
			return true;
	}
	return false;
}

static void add_symbol(struct data_symbols *symbols, const struct table_symbol *found)
{
	const GElf_Sym *symbol = &found->symbol;

	if (GELF_ST_TYPE(symbol->st_info) != STT_OBJECT || !symbol->st_size ||
	    found->section == SHN_UNDEF || found->section == SHN_ABS || !*found->name)
		return;
	ARRAY_GROW(symbols->rows, symbols->nr, symbols->cap);
	symbols->rows[symbols->nr++] =
		(struct data_symbol){.start = found->value,
				     .end = found->value + symbol->st_size,
				     .name = found->name,
				     .is_global = GELF_ST_BIND(symbol->st_info) != STB_LOCAL};
}

/* Of symbols at one address the last is shown: global before local, then the shorter name. */
static int compare(const void *a, const void *b)
{
	const struct data_symbol *left = a, *right = b;
	size_t left_letters = strlen(left->name), right_letters = strlen(right->name);

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->is_global != right->is_global)
		return left->is_global ? 1 : -1;
	if (left_letters != right_letters)
		return left_letters > right_letters ? -1 : 1;
	return strcmp(right->name, left->name);
}

static void read_tables(struct data_symbols *symbols, const struct symbol_object *object)
{
	struct symbol_tables tables;
	struct table_symbol found;

	symbol_tables_init(&tables, object->module);
	for (int i = 0; i < tables.nr && !has_ended(object->ended); i++) {
		if (symbol_tables_get(&tables, i, &found))
			add_symbol(symbols, &found);
	}
	if (symbols->nr)
		qsort(symbols->rows, symbols->nr, sizeof(*symbols->rows), compare);
	symbols->is_read = true;
}

/* Variables do not overlap, except several names of the same variable. */
const struct data_symbol *data_symbols_find(struct data_symbols *symbols,
					    const struct symbol_object *object, uint64_t address)
{
	size_t low = 0, high;

	if (!symbols->is_read)
		read_tables(symbols, object);
	high = symbols->nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->rows[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < symbols->rows[low - 1].end ? &symbols->rows[low - 1] : NULL;
}

void data_symbols_release(struct data_symbols *symbols)
{
	free(symbols->rows);
	*symbols = (struct data_symbols){0};
}
