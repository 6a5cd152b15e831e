// SPDX-License-Identifier: GPL-2.0-or-later
/* Decompression of sections that zlib or zstd compressed. */
#include "elf/elf_unpack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/alloc.h"

#define DEFLATE_RATIO_MAX 1032 /* the maximum ratio of zlib: a larger size is false */

/* Missing in the <elf.h> of systems with a libelf that does not unpack it. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

static struct elf_bytes copy_of(Elf_Scn *section, uint64_t max_bytes)
{
	const Elf_Data *data = elf_rawdata(section, NULL);

	if (!data || !data->d_buf || !data->d_size || data->d_size > max_bytes)
		return (struct elf_bytes){0};
	return (struct elf_bytes){.bytes = xmemdup(data->d_buf, data->d_size),
				  .nr_bytes = data->d_size};
}

/* libelf supports this only since 0.189. */
static struct elf_bytes unpack_zstd(Elf *elf, Elf_Scn *section, uint64_t unpacked,
				    uint64_t max_bytes)
{
	const Elf_Data *data = elf_rawdata(section, NULL);
	size_t header_bytes =
		gelf_getclass(elf) == ELFCLASS32 ? sizeof(Elf32_Chdr) : sizeof(Elf64_Chdr);
	uint8_t *bytes;

	if (!data || !data->d_buf || data->d_size < header_bytes || !unpacked)
		return (struct elf_bytes){0};
	bytes = alloc_bounded(unpacked, 1, max_bytes);
	if (!bytes || ZSTD_decompress(bytes, unpacked, (const char *)data->d_buf + header_bytes,
				      data->d_size - header_bytes) != unpacked) {
		free(bytes);
		return (struct elf_bytes){0};
	}
	return (struct elf_bytes){.bytes = bytes, .nr_bytes = unpacked};
}

/* Can a compressed section decompress to the size that it claims? */
static bool size_is_believable(uint64_t unpacked, uint64_t packed, uint64_t max_bytes)
{
	return unpacked <= max_bytes && unpacked / DEFLATE_RATIO_MAX <= packed;
}

struct elf_bytes elf_unpack(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, uint64_t max_bytes)
{
	GElf_Chdr packed;

	if (!(header->sh_flags & SHF_COMPRESSED))
		return copy_of(section, max_bytes);
	if (!gelf_getchdr(section, &packed))
		return (struct elf_bytes){0};
	if (packed.ch_type == ELFCOMPRESS_ZSTD)
		return unpack_zstd(elf, section, packed.ch_size, max_bytes);
	if (!size_is_believable(packed.ch_size, header->sh_size, max_bytes) ||
	    elf_compress(section, 0, 0) < 0)
		return (struct elf_bytes){0};
	return copy_of(section, max_bytes);
}

/* "ZLIB", the size in 8 bytes big endian, a zlib stream. */
struct elf_bytes elf_unpack_gnu(Elf_Scn *section, const GElf_Shdr *header, uint64_t max_bytes)
{
	const Elf_Data *raw = elf_rawdata(section, NULL);
	const uint8_t *bytes = raw ? raw->d_buf : NULL;
	uint64_t unpacked = 0;

	if (!bytes || raw->d_size < 12 || memcmp(bytes, "ZLIB", 4) != 0)
		return (struct elf_bytes){0};
	for (int i = 4; i < 12; i++)
		unpacked = unpacked << 8 | bytes[i];
	if (!size_is_believable(unpacked, header->sh_size, max_bytes) ||
	    elf_compress_gnu(section, 0, 0) < 0)
		return (struct elf_bytes){0};
	return copy_of(section, max_bytes);
}
