// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes of ELF sections, decompressed within bounds. */
#include "symbol/elf_section.h"

#include <gelf.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/alloc.h"

/* elf.h of older systems has no name for it. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/*
 * Debug information shrinks to a half or a tenth, small tables perhaps to a
 * hundredth; a section that claims more is an attempt to exhaust memory.
 */
#define MAX_INFLATION	    100
#define SMALL_BYTES	    (UINT64_C(64) << 20)
#define MAX_SMALL_INFLATION 1100
#define MAX_INFLATED_BYTES  (UINT64_C(16) << 30)

static bool may_inflate(uint64_t from, uint64_t to)
{
	uint64_t ratio = to <= SMALL_BYTES ? MAX_SMALL_INFLATION : MAX_INFLATION;

	return to <= MAX_INFLATED_BYTES && to / ratio <= from;
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

/* A section of ELFCOMPRESS_ZSTD, whose header is behind us; *block becomes the caller's. */
static struct dwarf_bytes inflate_zstd(Elf *elf, Elf_Scn *section, uint64_t nr_bytes,
				       uint8_t **block)
{
	struct dwarf_bytes none = {.at = NULL};
	Elf_Data *data = elf_rawdata(section, NULL);
	size_t header_bytes =
		gelf_getclass(elf) == ELFCLASS32 ? sizeof(Elf32_Chdr) : sizeof(Elf64_Chdr);

	if (!data || !data->d_buf || data->d_size < header_bytes || !nr_bytes)
		return none;
	*block = alloc_bounded(nr_bytes, 1, MAX_INFLATED_BYTES);
	if (!*block || ZSTD_decompress(*block, nr_bytes, (const char *)data->d_buf + header_bytes,
				       data->d_size - header_bytes) != nr_bytes)
		return none;
	return (struct dwarf_bytes){.at = *block, .nr = nr_bytes};
}

static struct dwarf_bytes bytes_of(Elf_Scn *section, uint64_t file_offset)
{
	Elf_Data *data = elf_rawdata(section, NULL);

	if (!data || !data->d_buf)
		return (struct dwarf_bytes){.at = NULL};
	return (struct dwarf_bytes){
		.at = data->d_buf, .nr = data->d_size, .file_offset = file_offset};
}

/* *block: what the caller must free, or NULL as it was. */
static struct dwarf_bytes inflated_bytes_of(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
					    uint8_t **block)
{
	GElf_Chdr compression;

	if (gelf_getchdr(section, &compression) &&
	    may_inflate(header->sh_size, compression.ch_size)) {
		if (compression.ch_type == ELFCOMPRESS_ZSTD)
			return inflate_zstd(elf, section, compression.ch_size, block);
		if (elf_compress(section, 0, 0) >= 0)
			return bytes_of(section, 0);
	}
	return (struct dwarf_bytes){.at = NULL};
}

static struct dwarf_bytes debug_bytes_of(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
					 bool gnu_compressed, uint8_t **block)
{
	if (header->sh_type == SHT_NOBITS || (gnu_compressed && !inflate_gnu(section)))
		return (struct dwarf_bytes){.at = NULL};
	if (header->sh_flags & SHF_COMPRESSED)
		return inflated_bytes_of(elf, section, header, block);
	return bytes_of(section, gnu_compressed ? 0 : header->sh_offset);
}

void inflated_sections_release(struct inflated_sections *inflated)
{
	for (int i = 0; i < DWARF_SECTION_COUNT; i++)
		free(inflated->blocks[i]);
	*inflated = (struct inflated_sections){.blocks = {NULL}};
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

static Elf_Scn *section_named(Elf *elf, const char *wanted, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	const char *name;

	while ((section = next_section(elf, section, header, &name))) {
		if (strcmp(name, wanted) == 0)
			return section;
	}
	return NULL;
}

struct dwarf_bytes elf_section_bytes(Elf *elf, const char *wanted)
{
	GElf_Shdr header;
	Elf_Scn *section = section_named(elf, wanted, &header);

	if (!section || header.sh_type == SHT_NOBITS)
		return (struct dwarf_bytes){.at = NULL};
	return bytes_of(section, 0);
}

uint64_t elf_section_address(Elf *elf, const char *wanted)
{
	GElf_Shdr header;

	return section_named(elf, wanted, &header) ? header.sh_addr : 0;
}

bool elf_has_section(Elf *elf, const char *wanted)
{
	GElf_Shdr header;

	return section_named(elf, wanted, &header) != NULL;
}

void elf_section_hide(Elf *elf, const char *wanted)
{
	GElf_Shdr header;
	Elf_Scn *section = section_named(elf, wanted, &header);

	if (!section)
		return;
	header.sh_type = SHT_NOBITS;
	header.sh_name = 0;
	gelf_update_shdr(section, &header);
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

bool elf_dwarf_sections(Elf *elf, bool split, struct inflated_sections *inflated,
			struct dwarf_bytes sections[DWARF_SECTION_COUNT])
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
		if (i >= 0 && !sections[i].at && !inflated->blocks[i])
			sections[i] = debug_bytes_of(elf, section, &header, gnu_compressed,
						     &inflated->blocks[i]);
	}
	return sections[DWARF_INFO].at != NULL;
}
