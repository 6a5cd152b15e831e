// SPDX-License-Identifier: GPL-2.0-or-later
/* Sections that zlib or zstd compressed, inflated within bounds. */
#include "elf/elf_inflate.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/ended.h"
#include "base/minmax.h"

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

#define GNU_PREFIX ".zdebug_"

uint64_t elf_inflated_bytes_max(void)
{
	return min_u64(MAX_INFLATED_BYTES,
		       (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * (uint64_t)sysconf(_SC_PAGESIZE));
}

bool elf_may_inflate(const struct elf_packed *packed)
{
	uint64_t ratio = packed->nr_inflated <= SMALL_BYTES ? MAX_SMALL_INFLATION : MAX_INFLATION;

	return packed->nr_inflated <= elf_inflated_bytes_max() &&
	       packed->nr_inflated / ratio <= packed->nr;
}

static bool is_gnu(const char *name)
{
	return strncmp(name, GNU_PREFIX, strlen(GNU_PREFIX)) == 0;
}

bool elf_is_packed(const char *name, const GElf_Shdr *header)
{
	return header->sh_type != SHT_NOBITS &&
	       (is_gnu(name) || (header->sh_flags & SHF_COMPRESSED));
}

/* ".zdebug_…", before SHF_COMPRESSED was invented: "ZLIB", then the size, big-endian. */
static bool read_gnu_header(Elf_Scn *section, struct elf_packed *packed)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	const uint8_t *header = data ? data->d_buf : NULL;

	*packed = (struct elf_packed){.at = NULL};
	if (!header || data->d_size < 12 || memcmp(header, "ZLIB", 4) != 0)
		return false;
	for (int i = 4; i < 12; i++)
		packed->nr_inflated = packed->nr_inflated << 8 | header[i];
	packed->at = header + 12;
	packed->nr = data->d_size - 12;
	return true;
}

/* SHF_COMPRESSED. */
static bool read_header(Elf *elf, Elf_Scn *section, struct elf_packed *packed)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	size_t header_bytes =
		gelf_getclass(elf) == ELFCLASS32 ? sizeof(Elf32_Chdr) : sizeof(Elf64_Chdr);
	GElf_Chdr header;

	if (!gelf_getchdr(section, &header) || !data || !data->d_buf ||
	    data->d_size < header_bytes ||
	    (header.ch_type != ELFCOMPRESS_ZLIB && header.ch_type != ELFCOMPRESS_ZSTD))
		return false;
	*packed = (struct elf_packed){.at = (const uint8_t *)data->d_buf + header_bytes,
				      .nr = data->d_size - header_bytes,
				      .nr_inflated = header.ch_size,
				      .is_zstd = header.ch_type == ELFCOMPRESS_ZSTD};
	return true;
}

bool elf_read_packed(Elf *elf, Elf_Scn *section, const char *name, struct elf_packed *packed)
{
	return is_gnu(name) ? read_gnu_header(section, packed) : read_header(elf, section, packed);
}

/* So much at a time, before it is asked whether to go on: some milliseconds. */
#define STEP_BYTES (UINT64_C(4) << 20)

static bool inflate_zlib(const struct elf_packed *packed, uint8_t *to, const atomic_bool *ended)
{
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed->at, .next_out = to};
	uint64_t nr_in = packed->nr, nr_out = packed->nr_inflated;
	int status = inflateInit(&stream);

	while (status == Z_OK && !has_ended(ended)) {
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

static bool inflate_zstd(const struct elf_packed *packed, uint8_t *to, const atomic_bool *ended)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = {.src = packed->at, .size = packed->nr};
	ZSTD_outBuffer out = {.dst = to};
	size_t left = 1;

	while (stream && left && !ZSTD_isError(left) && !has_ended(ended)) {
		size_t was_in = in.pos, was_out = out.pos;

		out.size = min_u64(packed->nr_inflated, out.pos + STEP_BYTES);
		left = ZSTD_decompressStream(stream, &out, &in);
		if (in.pos == was_in && out.pos == was_out)
			break;
	}
	ZSTD_freeDStream(stream);
	return !left && out.pos == packed->nr_inflated;
}

uint8_t *elf_inflate(const struct elf_packed *packed, const atomic_bool *ended)
{
	uint8_t *bytes;

	if (!packed->nr_inflated || !elf_may_inflate(packed))
		return NULL;
	bytes = alloc_bounded(packed->nr_inflated, 1, MAX_INFLATED_BYTES);
	if (bytes && (packed->is_zstd ? inflate_zstd(packed, bytes, ended)
				      : inflate_zlib(packed, bytes, ended)))
		return bytes;
	free(bytes);
	return NULL;
}
