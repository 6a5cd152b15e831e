// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/code_sections.h"

#include <gelf.h>
#include <stdlib.h>

#include "base/alloc.h"

void code_sections_read(struct code_sections *sections, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		const Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS ||
		    !(header.sh_flags & SHF_ALLOC))
			continue;
		data = elf_rawdata(section, NULL);
		if (!data || !data->d_buf || !data->d_size)
			continue;
		ARRAY_GROW(sections->rows, sections->nr, sections->cap);
		sections->rows[sections->nr++] =
			(struct code_section){.bytes = data->d_buf,
					      .address = header.sh_addr,
					      .nr_bytes = data->d_size,
					      .is_code = header.sh_flags & SHF_EXECINSTR};
	}
}

void code_sections_release(struct code_sections *sections)
{
	free(sections->rows);
	*sections = (struct code_sections){.nr = 0};
}

const struct code_section *code_section_at(const struct code_sections *sections, uint64_t address)
{
	for (size_t i = 0; i < sections->nr; i++) {
		if (address - sections->rows[i].address < sections->rows[i].nr_bytes)
			return &sections->rows[i];
	}
	return NULL;
}
