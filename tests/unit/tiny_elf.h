/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_TINY_ELF_H
#define PROFC_TESTS_TINY_ELF_H

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"

/*
 * ELF files built by hand, small enough to see whole in a test:
 *
 *	struct buf file = {0};
 *	tiny_elf_begin(&file, EM_X86_64, 2);
 *	tiny_elf_segment(&file, 0, (Elf64_Phdr){.p_type = PT_LOAD, …});
 *	tiny_elf_segment(&file, 1, (Elf64_Phdr){.p_type = PT_NOTE, …});
 *	… buf_append() the content; it starts at file offset TINY_ELF_CONTENT(2) …
 */
#define TINY_ELF_CONTENT(nr_segments) (sizeof(Elf64_Ehdr) + (nr_segments) * sizeof(Elf64_Phdr))

static inline Elf64_Ehdr *tiny_elf_header(struct buf *file)
{
	return (Elf64_Ehdr *)(void *)file->bytes;
}

static inline void tiny_elf_begin(struct buf *file, uint16_t machine, uint16_t nr_segments)
{
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_phoff = nr_segments ? sizeof(header) : 0,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = nr_segments,
		.e_shentsize = sizeof(Elf64_Shdr),
	};

	buf_clear(file);
	buf_append(file, &header, sizeof(header));
	memset(buf_extend(file, nr_segments * sizeof(Elf64_Phdr)), 0,
	       nr_segments * sizeof(Elf64_Phdr));
}

static inline void tiny_elf_segment(struct buf *file, size_t index, Elf64_Phdr segment)
{
	memcpy(file->bytes + TINY_ELF_CONTENT(index), &segment, sizeof(segment));
}

/* Section headers at the end of the file, the last one holding the names. */
static inline void tiny_elf_sections(struct buf *file, const Elf64_Shdr *sections, uint16_t nr)
{
	uint64_t offset = file->nr_bytes;

	buf_append(file, sections, nr * sizeof(*sections));
	tiny_elf_header(file)->e_shoff = offset;
	tiny_elf_header(file)->e_shnum = nr;
	tiny_elf_header(file)->e_shstrndx = (uint16_t)(nr - 1);
}

static inline int tiny_elf_fd(const struct buf *file)
{
	int fd = memfd_create("tiny", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, file->bytes, file->nr_bytes) != (ssize_t)file->nr_bytes) {
		close(fd);
		return -1;
	}
	return fd;
}

#endif
