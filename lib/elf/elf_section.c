// SPDX-License-Identifier: GPL-2.0-or-later
/* Sections of ELF files by their names. */
#include "elf/elf_section.h"

#include <string.h>

#include "elf/elf_inflate.h"

/* Their names, which libelf reads as a whole: of 100,000 functions with long names. */
#define NAMES_BYTES_MAX (UINT64_C(64) << 20)

Elf_Scn *elf_section_next(Elf *elf, Elf_Scn *section, GElf_Shdr *header, const char **name)
{
	GElf_Shdr names;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings) < 0 ||
	    !gelf_getshdr(elf_getscn(elf, strings), &names) || names.sh_size > NAMES_BYTES_MAX)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, header))
			continue;
		*name = elf_strptr(elf, strings, header->sh_name);
		if (*name)
			return section;
	}
	return NULL;
}

Elf_Scn *elf_section_named(Elf *elf, const char *wanted, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	const char *name;

	while ((section = elf_section_next(elf, section, header, &name))) {
		if (strcmp(name, wanted) == 0)
			return section;
	}
	return NULL;
}

struct elf_bytes elf_section_raw(Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = header->sh_type == SHT_NOBITS ? NULL : elf_rawdata(section, NULL);

	if (!data || !data->d_buf)
		return (struct elf_bytes){.bytes = NULL};
	return (struct elf_bytes){
		.bytes = data->d_buf, .nr_bytes = data->d_size, .vaddr = header->sh_addr};
}

struct elf_bytes elf_section_bytes(Elf *elf, const char *wanted)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_named(elf, wanted, &header);

	return section ? elf_section_raw(section, &header) : (struct elf_bytes){.bytes = NULL};
}

static void hide(Elf_Scn *section, GElf_Shdr *header)
{
	header->sh_type = SHT_NOBITS;
	header->sh_name = 0;
	header->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	gelf_update_shdr(section, header);
}

void elf_section_hide(Elf *elf, const char *wanted)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_named(elf, wanted, &header);

	if (section)
		hide(section, &header);
}

bool elf_hide_bombs(Elf *elf)
{
	uint64_t nr_left = elf_inflated_bytes_max();
	Elf_Scn *section = NULL;
	bool any = false;
	GElf_Shdr header;
	const char *name;

	while ((section = elf_section_next(elf, section, &header, &name))) {
		struct elf_packed packed;

		if (!elf_is_packed(name, &header) || !elf_read_packed(elf, section, name, &packed))
			continue;
		if (elf_may_inflate(&packed) && packed.nr_inflated <= nr_left) {
			nr_left -= packed.nr_inflated;
			continue;
		}
		hide(section, &header);
		any = true;
	}
	return any;
}
