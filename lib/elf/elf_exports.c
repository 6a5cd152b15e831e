// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds exported symbols of an ELF file by their names. */
#include "elf/elf_exports.h"

#include <gelf.h>
#include <string.h>

/* libLLVM exports some 40,000. */
#define SYMBOLS_MAX (UINT32_C(1) << 20)

static Elf_Data *dynamic_symbols(Elf *elf, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, header) || header->sh_type != SHT_DYNSYM)
			continue;
		if (!header->sh_entsize || header->sh_size / header->sh_entsize > SYMBOLS_MAX)
			return NULL;
		return elf_getdata(section, NULL);
	}
	return NULL;
}

static void take_symbol(const char *name, uint64_t value, const char *const *names, size_t nr,
			uint64_t *values)
{
	for (size_t i = 0; i < nr; i++) {
		if (!values[i] && strcmp(name, names[i]) == 0)
			values[i] = value;
	}
}

size_t elf_exports_find(Elf *elf, const char *const *names, size_t nr, uint64_t *values)
{
	GElf_Shdr header;
	Elf_Data *data = elf ? dynamic_symbols(elf, &header) : NULL;
	size_t nr_symbols = data ? data->d_size / header.sh_entsize : 0, nr_found = 0;

	memset(values, 0, nr * sizeof(*values));
	for (size_t i = 0; i < nr_symbols; i++) {
		const char *name;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		name = symbol.st_shndx == SHN_UNDEF
			       ? NULL
			       : elf_strptr(elf, header.sh_link, symbol.st_name);
		if (name)
			take_symbol(name, symbol.st_value, names, nr, values);
	}
	for (size_t i = 0; i < nr; i++)
		nr_found += values[i] != 0;
	return nr_found;
}

bool elf_exports_find_thread_variable(Elf *elf, const char *name, uint64_t *offset)
{
	GElf_Shdr header;
	Elf_Data *data = elf ? dynamic_symbols(elf, &header) : NULL;
	size_t nr_symbols = data ? data->d_size / header.sh_entsize : 0;

	for (size_t i = 0; i < nr_symbols; i++) {
		const char *found;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		if (symbol.st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol.st_info) != STT_TLS)
			continue;
		found = elf_strptr(elf, header.sh_link, symbol.st_name);
		if (found && strcmp(found, name) == 0) {
			*offset = symbol.st_value;
			return true;
		}
	}
	return false;
}
