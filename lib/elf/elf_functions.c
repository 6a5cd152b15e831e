// SPDX-License-Identifier: GPL-2.0-or-later
/* The extents of the functions in the symbol table of a file. */
#include "elf/elf_functions.h"

#include <gelf.h>
#include <stdbool.h>

#include "elf/elf_ranges.h"

/* chromium with all symbols has 1.5 million of them */
#define SYMBOLS_MAX (UINT32_C(1) << 24)

static Elf_Scn *section_of_type(Elf *elf, uint32_t type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	}
	return NULL;
}

static void take_symbols(struct elf_ranges *functions, Elf_Scn *section, const GElf_Shdr *header)
{
	bool is_bounded = header->sh_entsize && header->sh_size <= SYMBOLS_MAX * sizeof(Elf64_Sym);
	Elf_Data *data = is_bounded ? elf_getdata(section, NULL) : NULL;
	size_t nr = data ? data->d_size / header->sh_entsize : 0;

	for (size_t i = 0; i < nr; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			return;
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_size ||
		    symbol.st_shndx == SHN_UNDEF)
			continue;
		elf_ranges_add(functions,
			       (struct elf_range){.start = symbol.st_value,
						  .end = symbol.st_value + symbol.st_size,
						  .value = symbol.st_value});
	}
}

void elf_functions_load(struct elf_ranges *functions, Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *section;

	if (!elf)
		return;
	section = section_of_type(elf, SHT_SYMTAB, &header);
	if (!section)
		section = section_of_type(elf, SHT_DYNSYM, &header);
	if (section)
		take_symbols(functions, section, &header);
	elf_ranges_sort(functions);
}
