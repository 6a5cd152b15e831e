/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_ELF_SYMBOLS_H
#define PROFC_SYMBOL_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"
#include "profile/symbol_source.h"

struct symbol_object;

/*
 * The names of functions in an object's symbol tables, sorted by address:
 * .symtab, of the file or of its debug file, else .dynsym, with minidebuginfo
 * where the file has it.
 */
struct elf_symbol {
	uint64_t start, end;  /* [start, end) */
	const char *name;     /* borrowed from the object */
	const char *file;     /* source file of a local symbol; or NULL */
	uint32_t reach;	      /* from `start` to the highest end of this symbol and all before it */
	uint32_t rank;	      /* of several symbols at one address, the lowest rank is shown */
	uint32_t whole_print; /* name_print() of the name without version and suffixes */
	bool is_sized : 1;    /* the table says how long it is */
	bool is_function : 1; /* by its type; else a label, perhaps inside a function */
	bool is_resolver : 1; /* STT_GNU_IFUNC: the code here chooses the function of this name */
	bool is_part : 1;     /* function_name_is_of_part() */
	bool has_suffix : 1;  /* its name is longer than that of the whole */
};

struct elf_symbols {
	struct elf_symbol *rows;
	size_t nr, cap;
	uint64_t bias; /* these addresses minus those in the file */
	enum symbol_source source;
	/*
	 * Once elf_symbols_index_names(): a bit for the lower half of the print of each name with a
	 * suffix, owned; and the first row of each name with such a bit.
	 */
	uint8_t *suffixed;
	struct index_set names;
};

void elf_symbols_init(struct elf_symbols *symbols, const struct symbol_object *object);
void elf_symbols_release(struct elf_symbols *symbols);

/*
 * The symbol that holds an address, or NULL. A symbol ends where its size says: code after that has
 * no name. A symbol without a size ends at the next symbol, at the next place that code calls, at
 * the end of its section, or after 32 KiB.
 */
const struct elf_symbol *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address);

/* The symbol that is shown for the start of a function at an address, or NULL. */
const struct elf_symbol *elf_symbols_at(const struct elf_symbols *symbols, uint64_t address);

/* Narrow [*low, *high), around an address that no symbol holds, to where those around it are. */
void elf_symbols_gap(const struct elf_symbols *symbols, uint64_t address, uint64_t *low,
		     uint64_t *high);

/* Makes searches for names that others have with a suffix quick from now on. */
void elf_symbols_index_names(struct elf_symbols *symbols);
/* The first symbol with a name, or NULL. */
const struct elf_symbol *elf_symbols_named(const struct elf_symbols *symbols, const char *name);

#endif
