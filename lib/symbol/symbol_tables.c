// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads symbol tables. */
#include "symbol/symbol_tables.h"

#include <gelf.h>

/*
 * libdwfl takes the table of the file, or its debug file; else the dynamic one. NULL if there are
 * several, as in made files: which one it takes depends on more than their order.
 */
static Elf_Scn *find_table(Elf *elf, GElf_Shdr *header)
{
	Elf_Scn *section = NULL, *found = NULL;
	GElf_Shdr next;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &next) ||
		    (next.sh_type != SHT_SYMTAB && next.sh_type != SHT_DYNSYM))
			continue;
		if (found && header->sh_type == SHT_SYMTAB) {
			if (next.sh_type == SHT_SYMTAB)
				return NULL;
			continue;
		}
		*header = next;
		found = section;
	}
	return found;
}

static bool is_in_section(const GElf_Sym *symbol)
{
	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < SHN_LORESERVE;
}

static bool ask_libdwfl(const struct symbol_tables *tables, int index, struct table_symbol *found)
{
	GElf_Addr value;
	Dwarf_Addr bias;

	found->name = dwfl_module_getsym_info(tables->module, index, &found->symbol, &value,
					      &found->section, &found->elf, &bias);
	found->value = value;
	return found->name;
}

/* Any symbol of the table that has a place in the module. */
static bool ask_for_place(const struct symbol_tables *tables, struct table_symbol *found)
{
	for (int i = tables->nr; i-- > 0;) {
		if (ask_libdwfl(tables, i, found) && is_in_section(&found->symbol))
			return true;
	}
	return false;
}

/*
 * The names in the section with this number. False: the last one may not end in it, or it has no
 * bytes in the file, but a size.
 */
static bool read_names(struct symbol_tables *tables, Elf *elf, GElf_Word index)
{
	Elf_Scn *section = elf_getscn(elf, index);
	Elf_Data *names = elf_getdata(section, NULL);
	GElf_Shdr header;

	if (!gelf_getshdr(section, &header) || header.sh_type != SHT_STRTAB || !names ||
	    !names->d_buf || !names->d_size || ((const char *)names->d_buf)[names->d_size - 1])
		return false;
	tables->names = names->d_buf;
	tables->nr_name_bytes = names->d_size;
	return true;
}

/* Object files have no such table: their symbols are moved with their sections. */
static void find_only_table(struct symbol_tables *tables)
{
	struct table_symbol placed;
	GElf_Ehdr file;
	GElf_Shdr header;
	Elf_Scn *section;

	if (!ask_for_place(tables, &placed) || !gelf_getehdr(placed.elf, &file) ||
	    file.e_type == ET_REL)
		return;
	section = find_table(placed.elf, &header);
	if (!section || !header.sh_entsize ||
	    header.sh_size / header.sh_entsize != (GElf_Xword)tables->nr ||
	    !read_names(tables, placed.elf, header.sh_link))
		return;
	tables->elf = placed.elf;
	tables->bias = placed.value - placed.symbol.st_value;
	tables->symbols = elf_getdata(section, NULL);
}

void symbol_tables_init(struct symbol_tables *tables, Dwfl_Module *module)
{
	*tables = (struct symbol_tables){.module = module, .nr = dwfl_module_getsymtab(module)};
	if (tables->nr > 0)
		find_only_table(tables);
}

bool symbol_tables_get(const struct symbol_tables *tables, int index, struct table_symbol *found)
{
	if (!tables->symbols || !gelf_getsym(tables->symbols, index, &found->symbol) ||
	    !is_in_section(&found->symbol))
		return ask_libdwfl(tables, index, found);
	if (found->symbol.st_name >= tables->nr_name_bytes)
		return false;
	found->name = tables->names + found->symbol.st_name;
	found->value = found->symbol.st_value + tables->bias;
	found->section = found->symbol.st_shndx;
	found->elf = tables->elf;
	return true;
}

void symbol_tables_fetch(const struct symbol_tables *tables, int index)
{
	GElf_Sym symbol;

	if (index < tables->nr && tables->symbols && gelf_getsym(tables->symbols, index, &symbol) &&
	    symbol.st_name < tables->nr_name_bytes)
		__builtin_prefetch(tables->names + symbol.st_name);
}
