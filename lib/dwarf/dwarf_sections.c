// SPDX-License-Identifier: GPL-2.0-or-later
/* The sections of debug information in an ELF file. */
#include "dwarf/dwarf_sections.h"

#include <stdlib.h>
#include <string.h>

#include "base/ended.h"
#include "elf/elf_inflate.h"
#include "elf/elf_section.h"

struct dwarf_bytes dwarf_bytes_of(struct elf_bytes bytes)
{
	return (struct dwarf_bytes){.at = bytes.bytes, .nr = bytes.nr_bytes};
}

void inflated_sections_release(struct inflated_sections *inflated)
{
	for (int i = 0; i < DWARF_SECTION_COUNT; i++)
		free(inflated->blocks[i]);
	*inflated = (struct inflated_sections){.blocks = {NULL}};
}

static const char *const dwarf_names[DWARF_SECTION_COUNT] = {
	[DWARF_INFO] = "debug_info",
	[DWARF_ABBREV] = "debug_abbrev",
	[DWARF_LINE] = "debug_line",
	[DWARF_STR] = "debug_str",
	[DWARF_LINE_STR] = "debug_line_str",
	[DWARF_RANGES] = "debug_ranges",
	[DWARF_RNGLISTS] = "debug_rnglists",
	[DWARF_ADDR] = "debug_addr",
	[DWARF_STR_OFFSETS] = "debug_str_offsets",
};

/* The section of a name, or -1. With `split` the name ends with ".dwo". */
static int dwarf_section_of(const char *name, bool split)
{
	for (int i = 0; i < DWARF_SECTION_COUNT; i++) {
		size_t length = strlen(dwarf_names[i]);

		if (strncmp(name, dwarf_names[i], length) == 0 &&
		    strcmp(name + length, split ? ".dwo" : "") == 0)
			return i;
	}
	return -1;
}

/* *block: what the caller must free, or NULL as it was. */
static struct dwarf_bytes bytes_of(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
				   const char *name, const atomic_bool *ended, uint8_t **block)
{
	struct dwarf_bytes bytes = {.at = NULL};
	struct elf_packed packed;

	if (!elf_is_packed(name, header)) {
		bytes = dwarf_bytes_of(elf_section_raw(section, header));
		bytes.file_offset = bytes.at ? header->sh_offset : 0;
	} else if (elf_read_packed(elf, section, name, &packed)) {
		*block = elf_inflate(&packed, ended);
		bytes.at = *block;
		bytes.nr = *block ? packed.nr_inflated : 0;
	}
	return bytes;
}

bool dwarf_sections_read(Elf *elf, bool split, const atomic_bool *ended,
			 struct inflated_sections *inflated,
			 struct dwarf_bytes sections[DWARF_SECTION_COUNT])
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;

	for (int i = 0; i < DWARF_SECTION_COUNT; i++)
		sections[i] = (struct dwarf_bytes){.at = NULL};
	while ((section = elf_section_next(elf, section, &header, &name))) {
		bool is_gnu = strncmp(name, ".zdebug_", 8) == 0;
		int i;

		if (!is_gnu && strncmp(name, ".debug_", 7) != 0)
			continue;
		i = dwarf_section_of(name + (is_gnu ? 2 : 1), split);
		if (i >= 0 && !sections[i].at && !inflated->blocks[i])
			sections[i] =
				bytes_of(elf, section, &header, name, ended, &inflated->blocks[i]);
	}
	return sections[DWARF_INFO].at != NULL && !has_ended(ended);
}
