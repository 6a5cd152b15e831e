// SPDX-License-Identifier: GPL-2.0-or-later
/* ELF images inside larger files, and private copies of files. */
#include "elf/elf_cut.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define CUT_BYTES_MAX (UINT64_C(512) << 20)
#define BLOCK_BYTES   ((size_t)256 << 10)

static bool read_at(int fd, uint64_t offset, void *out, size_t nr_bytes)
{
	return offset <= INT64_MAX && pread(fd, out, nr_bytes, (off_t)offset) == (ssize_t)nr_bytes;
}

static bool read_header(int fd, uint64_t offset, Elf64_Ehdr *header)
{
	return read_at(fd, offset, header, sizeof(*header)) &&
	       !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == ELFCLASS64;
}

bool elf_begins_at(int fd, uint64_t offset)
{
	Elf64_Ehdr header;

	return read_header(fd, offset, &header);
}

static bool copy_blocks(int from, uint64_t offset, uint64_t nr_bytes, int to)
{
	cleanup_free uint8_t *block = xmalloc(BLOCK_BYTES);

	for (uint64_t done = 0; done < nr_bytes;) {
		uint64_t left = nr_bytes - done;
		size_t nr = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;

		if (!read_at(from, offset + done, block, nr) ||
		    pwrite(to, block, nr, (off_t)done) != (ssize_t)nr)
			return false;
		done += nr;
	}
	return true;
}

int elf_copy_of(int fd, uint64_t offset, uint64_t nr_bytes)
{
	int copy = memfd_create("profc", MFD_CLOEXEC);

	if (copy >= 0 && nr_bytes <= INT64_MAX && copy_blocks(fd, offset, nr_bytes, copy))
		return copy;
	if (copy >= 0)
		close(copy);
	return -1;
}

static void reach(uint64_t *end, uint64_t offset, uint64_t nr_bytes)
{
	/* A larger extent is damage: the file ends before it. */
	if (offset <= CUT_BYTES_MAX && nr_bytes <= CUT_BYTES_MAX && *end < offset + nr_bytes)
		*end = offset + nr_bytes;
}

/* The end of the segments, the sections and their headers. */
static uint64_t extent_of(int fd, uint64_t offset, const Elf64_Ehdr *header)
{
	uint64_t end = sizeof(*header);

	reach(&end, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr));
	reach(&end, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
	for (uint64_t i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;

		if (read_at(fd, offset + header->e_phoff + i * sizeof(segment), &segment,
			    sizeof(segment)))
			reach(&end, segment.p_offset, segment.p_filesz);
	}
	for (uint64_t i = 0; i < header->e_shnum; i++) {
		Elf64_Shdr section;

		if (read_at(fd, offset + header->e_shoff + i * sizeof(section), &section,
			    sizeof(section)) &&
		    section.sh_type != SHT_NOBITS)
			reach(&end, section.sh_offset, section.sh_size);
	}
	return end;
}

int elf_cut_out(int fd, uint64_t offset)
{
	Elf64_Ehdr header;
	struct stat stat;
	uint64_t end;

	if (!read_header(fd, offset, &header) || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    fstat(fd, &stat) < 0 || (uint64_t)stat.st_size <= offset)
		return -1;
	end = extent_of(fd, offset, &header);
	if (end > (uint64_t)stat.st_size - offset)
		end = (uint64_t)stat.st_size - offset;
	return end <= CUT_BYTES_MAX ? elf_copy_of(fd, offset, end) : -1;
}
