// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_relocations.h"

#include <elf.h>
#include <gelf.h>
#include <stdbool.h>

#ifndef R_AARCH64_RELATIVE /* missing in musl's <elf.h> */
#define R_AARCH64_RELATIVE 1027
#define R_AARCH64_ABS64	   257
#endif

/* Debian's libpython has some 20,000. */
#define RELOCATIONS_MAX (UINT32_C(1) << 24)

enum meaning { MEANS_OTHER, MEANS_PLACE, MEANS_SYMBOL };

static enum meaning meaning_of(const GElf_Ehdr *file, uint64_t type)
{
	bool is_arm = file->e_machine == EM_AARCH64;

	if (file->e_machine != EM_X86_64 && !is_arm)
		return MEANS_OTHER;
	if (type == (is_arm ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE))
		return MEANS_PLACE;
	return type == (is_arm ? R_AARCH64_ABS64 : R_X86_64_64) ? MEANS_SYMBOL : MEANS_OTHER;
}

/* 0: it is defined elsewhere. */
static uint64_t symbol_value(Elf *elf, uint32_t table, uint64_t index)
{
	Elf_Scn *section = elf_getscn(elf, table);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Sym symbol;

	return data && index <= RELOCATIONS_MAX && gelf_getsym(data, (int)index, &symbol) &&
			       symbol.st_shndx != SHN_UNDEF
		       ? symbol.st_value
		       : 0;
}

static void apply(Elf *elf, const GElf_Ehdr *file, uint32_t symbols, const GElf_Rela *relocation,
		  uint64_t *word)
{
	enum meaning meaning = meaning_of(file, GELF_R_TYPE(relocation->r_info));
	uint64_t value = 0;

	if (meaning == MEANS_OTHER)
		return;
	if (meaning == MEANS_SYMBOL) {
		value = symbol_value(elf, symbols, GELF_R_SYM(relocation->r_info));
		if (!value)
			return;
	}
	*word = value + (uint64_t)relocation->r_addend;
}

/* Returns how many of at most `max` relocations it has. */
static uint32_t apply_section(Elf *elf, const GElf_Ehdr *file, Elf_Scn *section, uint64_t vaddr,
			      uint64_t *words, size_t nr, uint32_t max)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Rela relocation;
	GElf_Shdr header;
	uint32_t i = 0;

	if (!data || !gelf_getshdr(section, &header))
		return 0;
	for (; i < max && gelf_getrela(data, (int)i, &relocation); i++) {
		uint64_t offset = relocation.r_offset - vaddr;

		if (offset / sizeof(*words) < nr && offset % sizeof(*words) == 0)
			apply(elf, file, header.sh_link, &relocation,
			      &words[offset / sizeof(*words)]);
	}
	return i;
}

void elf_relocations_apply(Elf *elf, uint64_t vaddr, uint64_t *words, size_t nr)
{
	Elf_Scn *section = NULL;
	uint32_t nr_left = RELOCATIONS_MAX;
	GElf_Ehdr file;
	GElf_Shdr header;

	if (!elf || !gelf_getehdr(elf, &file))
		return;
	while ((section = elf_nextscn(elf, section))) {
		/* Relocations of a part that is not loaded are for debuggers. */
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
		    header.sh_flags & SHF_ALLOC && header.sh_size / sizeof(Elf64_Rela) <= nr_left)
			nr_left -= apply_section(elf, &file, section, vaddr, words, nr, nr_left);
	}
}
