// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/elf_section.h"

#include <gelf.h>

/* zlib cannot do better than 1:1032; a section that claims more is a trap. */
#define MAX_INFLATION	   1100
#define MAX_INFLATED_BYTES (UINT64_C(16) << 30)

static bool may_inflate(uint64_t from, uint64_t to)
{
	return to <= MAX_INFLATED_BYTES && to / MAX_INFLATION <= from;
}

/* ".zdebug_…", before SHF_COMPRESSED was invented: "ZLIB", then the size, big-endian. */
static bool inflate_gnu(Elf_Scn *section)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	const uint8_t *header = data ? data->d_buf : NULL;
	uint64_t nr_bytes = 0;

	if (!header || data->d_size < 12 || memcmp(header, "ZLIB", 4) != 0)
		return false;
	for (int i = 4; i < 12; i++)
		nr_bytes = nr_bytes << 8 | header[i];
	return may_inflate(data->d_size, nr_bytes) && elf_compress_gnu(section, 0, 0) >= 0;
}

static struct dwarf_bytes bytes_of(Elf_Scn *section, const GElf_Shdr *header, bool gnu_compressed)
{
	struct dwarf_bytes none = {.at = NULL};
	GElf_Chdr compression;
	Elf_Data *data;
	uint64_t file_offset = 0;

	if (header->sh_type == SHT_NOBITS)
		return none;
	if (gnu_compressed) {
		if (!inflate_gnu(section))
			return none;
	} else if (header->sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(section, &compression) ||
		    !may_inflate(header->sh_size, compression.ch_size) ||
		    elf_compress(section, 0, 0) < 0)
			return none;
	} else {
		file_offset = header->sh_offset;
	}
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf)
		return none;
	return (struct dwarf_bytes){
		.at = data->d_buf, .nr = data->d_size, .file_offset = file_offset};
}

/* The section after `section` (NULL: the first) that has a name, with its header; NULL: no more. */
static Elf_Scn *next_section(Elf *elf, Elf_Scn *section, GElf_Shdr *header, const char **name)
{
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings) < 0)
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

struct dwarf_bytes elf_section_bytes(Elf *elf, const char *wanted)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;

	while ((section = next_section(elf, section, &header, &name))) {
		if (strcmp(name, wanted) == 0)
			return bytes_of(section, &header, false);
	}
	return (struct dwarf_bytes){.at = NULL};
}

uint64_t elf_section_address(Elf *elf, const char *wanted)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;

	while ((section = next_section(elf, section, &header, &name))) {
		if (strcmp(name, wanted) == 0)
			return header.sh_addr;
	}
	return 0;
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

/* Which of the sections a name is, or -1; with or without the ".dwo" of split DWARF. */
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

bool elf_dwarf_sections(Elf *elf, bool split, struct dwarf_bytes sections[DWARF_SECTION_COUNT])
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;

	for (int i = 0; i < DWARF_SECTION_COUNT; i++)
		sections[i] = (struct dwarf_bytes){.at = NULL};
	while ((section = next_section(elf, section, &header, &name))) {
		bool gnu_compressed = strncmp(name, ".zdebug_", 8) == 0;
		int i;

		if (!gnu_compressed && strncmp(name, ".debug_", 7) != 0)
			continue;
		i = dwarf_section_of(name + (gnu_compressed ? 2 : 1), split);
		if (i >= 0 && !sections[i].at)
			sections[i] = bytes_of(section, &header, gnu_compressed);
	}
	return sections[DWARF_INFO].at != NULL;
}
