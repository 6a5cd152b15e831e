// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/code_sections.h"

#include <gelf.h>
#include <stdlib.h>

#include "base/alloc.h"

static int by_address(const void *a, const void *b)
{
	const struct code_section *one = a, *other = b;

	return (one->address > other->address) - (one->address < other->address);
}

size_t code_bytes_of(Elf *elf)
{
	size_t nr_bytes = 0;

	return elf_rawfile(elf, &nr_bytes) ? nr_bytes : 0;
}

const Elf_Data *code_section_data(Elf_Scn *section, size_t *nr_left)
{
	GElf_Shdr header;
	const Elf_Data *data;

	if (!gelf_getshdr(section, &header) || header.sh_size > *nr_left)
		return NULL;
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf || !data->d_size || data->d_size > *nr_left)
		return NULL;
	*nr_left -= data->d_size;
	return data;
}

/* No instruction, and no step from one to the next, is longer. */
#define STEP_BYTES_MAX 64

void code_sections_read(struct code_sections *sections, Elf *elf)
{
	size_t nr_left = code_bytes_of(elf);
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		const Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS ||
		    !(header.sh_flags & SHF_ALLOC))
			continue;
		data = code_section_data(section, &nr_left);
		if (!data || header.sh_addr > UINT64_MAX - STEP_BYTES_MAX - data->d_size)
			continue;
		ARRAY_GROW(sections->rows, sections->nr, sections->cap);
		sections->rows[sections->nr++] =
			(struct code_section){.bytes = data->d_buf,
					      .address = header.sh_addr,
					      .nr_bytes = data->d_size,
					      .is_code = header.sh_flags & SHF_EXECINSTR};
	}
	if (sections->nr)
		qsort(sections->rows, sections->nr, sizeof(*sections->rows), by_address);
}

void code_sections_release(struct code_sections *sections)
{
	free(sections->rows);
	*sections = (struct code_sections){.nr = 0};
}

const struct code_section *code_section_at(const struct code_sections *sections, uint64_t address)
{
	size_t low = 0, high = sections->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sections->rows[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - sections->rows[low - 1].address >= sections->rows[low - 1].nr_bytes)
		return NULL;
	return &sections->rows[low - 1];
}
