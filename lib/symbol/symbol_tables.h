/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_SYMBOL_TABLES_H
#define PROFC_SYMBOL_SYMBOL_TABLES_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

/*
 * The symbols of a module, by number, as dwfl_module_getsym_info() has them. Where there is one
 * table they are read from that, which takes a tenth of the time.
 */
struct symbol_tables {
	Dwfl_Module *module; /* borrowed, as all here */
	int nr;
	/* The only table, the file that it is in, and its names; NULL: libdwfl reads them. */
	Elf_Data *symbols;
	Elf *elf;
	const char *names;
	size_t nr_name_bytes;
	uint64_t bias; /* of addresses in that file */
};

struct table_symbol {
	GElf_Sym symbol;
	uint64_t value;	   /* its address in the module */
	GElf_Word section; /* of `elf` */
	Elf *elf;	   /* the file that has it */
	const char *name;
};

void symbol_tables_init(struct symbol_tables *tables, Dwfl_Module *module);
/* False: it cannot be read, or has no name. */
bool symbol_tables_get(const struct symbol_tables *tables, int index, struct table_symbol *found);
/* Soon the name of this one will be looked at, if there is one. */
void symbol_tables_fetch(const struct symbol_tables *tables, int index);

#endif
