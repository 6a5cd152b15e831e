// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes of ELF sections, decompressed within bounds. */
#include "symbol/elf_section.h"

#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "symbol/types.h"

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

/* All of a file together. */
static uint64_t inflated_bytes_max(void)
{
	return min_u64(MAX_INFLATED_BYTES,
		       (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * (uint64_t)sysconf(_SC_PAGESIZE));
}

static bool may_inflate(uint64_t from, uint64_t to)
{
	uint64_t ratio = to <= SMALL_BYTES ? MAX_SMALL_INFLATION : MAX_INFLATION;

	return to <= inflated_bytes_max() && to / ratio <= from;
}

/* A compressed section. */
struct packed {
	const uint8_t *at; /* of its stream */
	uint64_t nr, nr_inflated;
	bool is_zstd;
};

/* ".zdebug_…", before SHF_COMPRESSED was invented: "ZLIB", then the size, big-endian. */
static bool read_gnu_header(Elf_Scn *section, struct packed *packed)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	const uint8_t *header = data ? data->d_buf : NULL;

	*packed = (struct packed){.at = NULL};
	if (!header || data->d_size < 12 || memcmp(header, "ZLIB", 4) != 0)
		return false;
	for (int i = 4; i < 12; i++)
		packed->nr_inflated = packed->nr_inflated << 8 | header[i];
	packed->at = header + 12;
	packed->nr = data->d_size - 12;
	return true;
}

/* SHF_COMPRESSED. */
static bool read_header(Elf *elf, Elf_Scn *section, struct packed *packed)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	size_t header_bytes =
		gelf_getclass(elf) == ELFCLASS32 ? sizeof(Elf32_Chdr) : sizeof(Elf64_Chdr);
	GElf_Chdr header;

	if (!gelf_getchdr(section, &header) || !data || !data->d_buf ||
	    data->d_size < header_bytes ||
	    (header.ch_type != ELFCOMPRESS_ZLIB && header.ch_type != ELFCOMPRESS_ZSTD))
		return false;
	*packed = (struct packed){.at = (const uint8_t *)data->d_buf + header_bytes,
				  .nr = data->d_size - header_bytes,
				  .nr_inflated = header.ch_size,
				  .is_zstd = header.ch_type == ELFCOMPRESS_ZSTD};
	return true;
}

/* So much at a time, before it is asked whether to go on: some milliseconds. */
#define STEP_BYTES (UINT64_C(4) << 20)

static bool inflate_zlib(const struct packed *packed, uint8_t *to, const atomic_bool *ended)
{
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed->at, .next_out = to};
	uint64_t nr_in = packed->nr, nr_out = packed->nr_inflated;
	int status = inflateInit(&stream);

	while (status == Z_OK && !symbol_is_ended(ended)) {
		uint64_t nr_given = min_u64(nr_in, STEP_BYTES),
			 nr_room = min_u64(nr_out, STEP_BYTES);

		stream.avail_in = (uInt)nr_given;
		stream.avail_out = (uInt)nr_room;
		status = inflate(&stream, Z_NO_FLUSH);
		nr_in -= nr_given - stream.avail_in;
		nr_out -= nr_room - stream.avail_out;
	}
	inflateEnd(&stream);
	return status == Z_STREAM_END && !nr_out;
}

static bool inflate_zstd(const struct packed *packed, uint8_t *to, const atomic_bool *ended)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = {.src = packed->at, .size = packed->nr};
	ZSTD_outBuffer out = {.dst = to};
	size_t left = 1;

	while (stream && left && !ZSTD_isError(left) && !symbol_is_ended(ended)) {
		size_t was_in = in.pos, was_out = out.pos;

		out.size = min_u64(packed->nr_inflated, out.pos + STEP_BYTES);
		left = ZSTD_decompressStream(stream, &out, &in);
		if (in.pos == was_in && out.pos == was_out)
			break;
	}
	ZSTD_freeDStream(stream);
	return !left && out.pos == packed->nr_inflated;
}

/* *block: what the caller must free, or NULL as it was. */
static struct dwarf_bytes inflate_section(const struct packed *packed, const atomic_bool *ended,
					  uint8_t **block)
{
	if (!packed->nr_inflated || !may_inflate(packed->nr, packed->nr_inflated))
		return (struct dwarf_bytes){.at = NULL};
	*block = alloc_bounded(packed->nr_inflated, 1, MAX_INFLATED_BYTES);
	if (!*block || !(packed->is_zstd ? inflate_zstd(packed, *block, ended)
					 : inflate_zlib(packed, *block, ended)))
		return (struct dwarf_bytes){.at = NULL};
	return (struct dwarf_bytes){.at = *block, .nr = packed->nr_inflated};
}

static struct dwarf_bytes bytes_of(Elf_Scn *section, uint64_t file_offset)
{
	Elf_Data *data = elf_rawdata(section, NULL);

	if (!data || !data->d_buf)
		return (struct dwarf_bytes){.at = NULL};
	return (struct dwarf_bytes){
		.at = data->d_buf, .nr = data->d_size, .file_offset = file_offset};
}

static struct dwarf_bytes debug_bytes_of(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
					 bool gnu_compressed, const atomic_bool *ended,
					 uint8_t **block)
{
	bool is_packed = gnu_compressed || (header->sh_flags & SHF_COMPRESSED);
	struct packed packed;

	if (header->sh_type == SHT_NOBITS)
		return (struct dwarf_bytes){.at = NULL};
	if (!is_packed)
		return bytes_of(section, header->sh_offset);
	if (!(gnu_compressed ? read_gnu_header(section, &packed)
			     : read_header(elf, section, &packed)))
		return (struct dwarf_bytes){.at = NULL};
	return inflate_section(&packed, ended, block);
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
	Elf_Scn *section = section_named(elf, wanted, &header);

	if (section)
		hide(section, &header);
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

bool elf_hide_bombs(Elf *elf)
{
	uint64_t nr_left = inflated_bytes_max();
	Elf_Scn *section = NULL;
	bool any = false;
	GElf_Shdr header;
	const char *name;

	while ((section = next_section(elf, section, &header, &name))) {
		bool is_gnu = strncmp(name, ".zdebug_", 8) == 0;
		struct packed packed;

		if (header.sh_type == SHT_NOBITS ||
		    (!is_gnu && !(header.sh_flags & SHF_COMPRESSED)) ||
		    !(is_gnu ? read_gnu_header(section, &packed)
			     : read_header(elf, section, &packed)))
			continue;
		if (may_inflate(packed.nr, packed.nr_inflated) && packed.nr_inflated <= nr_left) {
			nr_left -= packed.nr_inflated;
			continue;
		}
		hide(section, &header);
		any = true;
	}
	return any;
}

bool elf_dwarf_sections(Elf *elf, bool split, const atomic_bool *ended,
			struct inflated_sections *inflated,
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
			sections[i] = debug_bytes_of(elf, section, &header, gnu_compressed, ended,
						     &inflated->blocks[i]);
	}
	return sections[DWARF_INFO].at != NULL && !symbol_is_ended(ended);
}
