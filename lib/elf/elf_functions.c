// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_functions.h"

#include <gelf.h>
#include <stdlib.h>

#include "base/alloc.h"

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

static int by_start(const void *a, const void *b)
{
	const struct elf_function *x = a;
	const struct elf_function *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void take_symbols(struct elf_functions *functions, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = header->sh_entsize ? elf_getdata(section, NULL) : NULL;
	size_t nr = data ? data->d_size / header->sh_entsize : 0;

	for (size_t i = 0; i < nr && i < SYMBOLS_MAX; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			return;
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_size ||
		    symbol.st_shndx == SHN_UNDEF)
			continue;
		ARRAY_GROW(functions->functions, functions->nr, functions->cap);
		functions->functions[functions->nr++] =
			(struct elf_function){symbol.st_value, symbol.st_value + symbol.st_size};
	}
}

void elf_functions_load(struct elf_functions *functions, Elf *elf)
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
	if (functions->nr)
		qsort(functions->functions, functions->nr, sizeof(*functions->functions), by_start);
}

void elf_functions_release(struct elf_functions *functions)
{
	free(functions->functions);
	*functions = (struct elf_functions){0};
}

bool elf_functions_find(const struct elf_functions *functions, uint64_t vaddr, uint64_t *start)
{
	size_t low = 0;
	size_t high = functions->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (functions->functions[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || vaddr >= functions->functions[low - 1].end)
		return false;
	*start = functions->functions[low - 1].start;
	return true;
}
