// SPDX-License-Identifier: GPL-2.0-or-later
/* The one place where files are given to libelf. */
#include "elf/elf_open.h"

#include <elf.h>
#include <endian.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf_holes.h"

/* Objects with a section for each function have 100,000. */
#define SECTIONS_MAX (UINT64_C(1) << 18)

/* Both classes of headers, as bytes in the file's order. */
union header {
	unsigned char ident[EI_NIDENT];
	Elf32_Ehdr of_32;
	Elf64_Ehdr of_64;
};

static bool read_at(int fd, void *out, size_t nr_bytes, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, out, nr_bytes, (off_t)offset) == (ssize_t)nr_bytes;
}

/* Where there are too many for the header, the first section has their number. */
static uint64_t nr_sections_64(int fd, const Elf64_Ehdr *header, bool is_big)
{
	uint64_t offset = is_big ? be64toh(header->e_shoff) : le64toh(header->e_shoff);
	Elf64_Shdr first;

	if (header->e_shnum || !offset)
		return is_big ? be16toh(header->e_shnum) : le16toh(header->e_shnum);
	if (!read_at(fd, &first, sizeof(first), offset))
		return 0;
	return is_big ? be64toh(first.sh_size) : le64toh(first.sh_size);
}

static uint64_t nr_sections_32(int fd, const Elf32_Ehdr *header, bool is_big)
{
	uint32_t offset = is_big ? be32toh(header->e_shoff) : le32toh(header->e_shoff);
	Elf32_Shdr first;

	if (header->e_shnum || !offset)
		return is_big ? be16toh(header->e_shnum) : le16toh(header->e_shnum);
	if (!read_at(fd, &first, sizeof(first), offset))
		return 0;
	return is_big ? be32toh(first.sh_size) : le32toh(first.sh_size);
}

static uint64_t nr_sections(int fd)
{
	union header header;
	bool is_big;

	if (!read_at(fd, &header, sizeof(header), 0) || memcmp(header.ident, ELFMAG, SELFMAG) != 0)
		return 0;
	is_big = header.ident[EI_DATA] == ELFDATA2MSB;
	return header.ident[EI_CLASS] == ELFCLASS32 ? nr_sections_32(fd, &header.of_32, is_big)
						    : nr_sections_64(fd, &header.of_64, is_big);
}

/* A program may leave a hole where it has zeros to write to. */
static bool is_variables(const GElf_Shdr *header)
{
	return header->sh_type == SHT_PROGBITS && header->sh_flags & SHF_WRITE;
}

/* Chrome with its debug information has some ten; they may all be at one place. */
#define LARGE_SECTIONS_MAX 64

static bool has_sections_of_holes(Elf *elf, int fd)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int nr = 0;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_size <= ELF_HOLES_MIN ||
		    header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL ||
		    is_variables(&header))
			continue;
		if (++nr > LARGE_SECTIONS_MAX ||
		    elf_is_of_holes(fd, header.sh_offset, header.sh_size))
			return true;
	}
	return false;
}

Elf *elf_open(int fd, Elf_Cmd command)
{
	return nr_sections(fd) <= SECTIONS_MAX ? elf_begin(fd, command, NULL) : NULL;
}

Elf *elf_open_sections(int fd, Elf_Cmd command)
{
	Elf *elf = elf_open(fd, command);

	if (elf && has_sections_of_holes(elf, fd)) {
		elf_end(elf);
		return NULL;
	}
	return elf;
}
