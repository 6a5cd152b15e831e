// SPDX-License-Identifier: GPL-2.0-or-later
#include <libelf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_holes.h"
#include "elf/elf_open.h"
#include "tests/unit/tiny_elf.h"
#include "tests/unit/unit.h"

#define MIB (UINT64_C(1) << 20)

static int file_of(uint64_t nr_bytes)
{
	int fd = memfd_create("holes", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)nr_bytes), 0);
	return fd;
}

TEST(elf_holes, half_of_a_large_part_is_data)
{
	int fd = file_of(64 * MIB);

	assert_false(elf_is_of_holes(fd, 0, 16 * MIB)); /* it is read soon */
	assert_true(elf_is_of_holes(fd, 0, 32 * MIB));
	assert_false(elf_is_of_holes(fd, UINT64_MAX - MIB, 32 * MIB));
	for (uint64_t at = 0; at < 32 * MIB; at += 4096)
		assert_int_equal(pwrite(fd, "x", 1, (off_t)at), 1);
	assert_true(elf_is_of_holes(fd, 0, 64 * MIB));
	assert_false(elf_is_of_holes(fd, 0, 40 * MIB));
	close(fd);
}

/* A file whose section is a hole of terabytes. */
static bool opens_with(Elf64_Word type, Elf64_Xword flags)
{
	const Elf64_Shdr sections[] = {
		{.sh_type = SHT_NULL},
		{.sh_type = type,
		 .sh_flags = flags,
		 .sh_offset = MIB,
		 .sh_size = UINT64_C(1) << 41,
		 .sh_entsize = sizeof(Elf64_Sym)},
		{.sh_type = SHT_STRTAB},
	};
	struct buf file = {0};
	Elf *elf;
	bool opens;
	int fd;

	tiny_elf_begin(&file, EM_X86_64, 0);
	tiny_elf_sections(&file, sections, 3);
	fd = tiny_elf_fd(&file);
	assert_int_equal(ftruncate(fd, (off_t)(MIB + (UINT64_C(1) << 41))), 0);
	elf_version(EV_CURRENT);
	elf = elf_open_sections(fd, ELF_C_READ);
	opens = elf;
	elf_end(elf);
	close(fd);
	buf_release(&file);
	return opens;
}

TEST(elf_holes, sections_of_holes_are_refused)
{
	assert_true(opens_with(SHT_NULL, 0) && opens_with(SHT_NOBITS, SHF_ALLOC));
	assert_true(opens_with(SHT_PROGBITS, SHF_ALLOC | SHF_WRITE));
	assert_false(opens_with(SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR));
	assert_false(opens_with(SHT_NOTE, SHF_ALLOC));
	assert_false(opens_with(SHT_SYMTAB, 0));
}
