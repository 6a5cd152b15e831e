// SPDX-License-Identifier: GPL-2.0-or-later
/* Compressed sections of files that are made here. */
#include <libelf.h>
#include <zlib.h>
#include <zstd.h>

#include "base/alloc.h"
#include "dwarf/dwarf_sections.h"
#include "elf/elf_section.h"
#include "tests/unit/tiny_elf.h"
#include "tests/unit/unit.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define CONTENT_BYTES (UINT64_C(9) << 20) /* some steps of what inflates */

static const char names[] = "\0.debug_info\0.symtab\0.shstrtab";

enum { DEBUG_INFO = 1, SYMTAB = 13, SHSTRTAB = 21 };

struct made {
	struct buf file;
	int fd;
	Elf *elf;
	struct inflated_sections inflated;
	uint8_t *content;
};

/* Appends a section of nr_inflated bytes, by what its header claims. */
static Elf64_Shdr add_packed(struct made *made, uint32_t type, uint64_t nr_inflated)
{
	const Elf64_Chdr header = {.ch_type = type, .ch_size = nr_inflated, .ch_addralign = 1};
	uLong nr_packed = compressBound(CONTENT_BYTES);
	cleanup_free uint8_t *packed = xmalloc(nr_packed);
	uint64_t offset = made->file.nr_bytes;

	if (type == ELFCOMPRESS_ZLIB)
		compress(packed, &nr_packed, made->content, CONTENT_BYTES);
	else
		nr_packed = ZSTD_compress(packed, nr_packed, made->content, CONTENT_BYTES, 1);
	buf_append(&made->file, &header, sizeof(header));
	buf_append(&made->file, packed, nr_packed);
	while (made->file.nr_bytes % 8)
		buf_append_byte(&made->file, 0);
	return (Elf64_Shdr){.sh_type = SHT_PROGBITS,
			    .sh_flags = SHF_COMPRESSED,
			    .sh_offset = offset,
			    .sh_size = sizeof(header) + nr_packed,
			    .sh_addralign = 8};
}

static void set_up(struct made *made, uint32_t type, uint64_t info_bytes, uint64_t symtab_bytes)
{
	Elf64_Shdr sections[4] = {{0}};

	*made = (struct made){.content = xmalloc(CONTENT_BYTES)};
	for (size_t i = 0; i < CONTENT_BYTES; i++)
		made->content[i] = (uint8_t)(i * i >> 7);
	tiny_elf_begin(&made->file, EM_X86_64, 0);
	sections[1] = add_packed(made, type, info_bytes);
	sections[1].sh_name = DEBUG_INFO;
	sections[2] = add_packed(made, type, symtab_bytes);
	sections[2].sh_name = SYMTAB;
	sections[3] = (Elf64_Shdr){.sh_name = SHSTRTAB,
				   .sh_type = SHT_STRTAB,
				   .sh_offset = made->file.nr_bytes,
				   .sh_size = sizeof(names)};
	buf_append(&made->file, names, sizeof(names));
	while (made->file.nr_bytes % 8)
		buf_append_byte(&made->file, 0);
	tiny_elf_sections(&made->file, sections, 4);
	made->fd = tiny_elf_fd(&made->file);
	elf_version(EV_CURRENT);
	made->elf = elf_begin(made->fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	assert_non_null(made->elf);
}

static void tear_down(struct made *made)
{
	inflated_sections_release(&made->inflated);
	elf_end(made->elf);
	close(made->fd);
	free(made->content);
	buf_release(&made->file);
}

TEST(elf_section, is_inflated)
{
	static const uint32_t types[] = {ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD};
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];
	struct made made;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		set_up(&made, types[i], CONTENT_BYTES, CONTENT_BYTES);
		assert_false(elf_hide_bombs(made.elf));
		assert_true(dwarf_sections_read(made.elf, false, NULL, &made.inflated, sections));
		assert_int_equal(sections[DWARF_INFO].nr, CONTENT_BYTES);
		assert_memory_equal(sections[DWARF_INFO].at, made.content, CONTENT_BYTES);
		tear_down(&made);
	}
}

TEST(elf_section, wrong_sizes_are_refused)
{
	static const uint32_t types[] = {ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD};
	static const uint64_t sizes[] = {CONTENT_BYTES - 1, CONTENT_BYTES + 1, 0, UINT64_C(1) << 50,
					 UINT64_MAX};
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];
	struct made made;

	for (size_t i = 0; i < ARRAY_SIZE(types) * ARRAY_SIZE(sizes); i++) {
		set_up(&made, types[i % 2], sizes[i / 2], CONTENT_BYTES);
		assert_false(dwarf_sections_read(made.elf, false, NULL, &made.inflated, sections));
		tear_down(&made);
	}
}

TEST(elf_section, inflating_ends_when_asked)
{
	static const uint32_t types[] = {ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD};
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];
	const atomic_bool ended = true;
	struct made made;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		set_up(&made, types[i], CONTENT_BYTES, CONTENT_BYTES);
		assert_false(
			dwarf_sections_read(made.elf, false, &ended, &made.inflated, sections));
		assert_null(sections[DWARF_INFO].at);
		tear_down(&made);
	}
}

/* A library that is given the file would inflate it. */
TEST(elf_section, symbols_that_claim_too_much_are_hidden)
{
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];
	GElf_Shdr header;
	struct made made;

	set_up(&made, ELFCOMPRESS_ZLIB, CONTENT_BYTES, UINT64_C(1) << 50);
	assert_non_null(elf_section_named(made.elf, ".symtab", &header));
	assert_true(elf_hide_bombs(made.elf));
	assert_null(elf_section_named(made.elf, ".symtab", &header));
	assert_true(dwarf_sections_read(made.elf, false, NULL, &made.inflated, sections));
	assert_false(elf_hide_bombs(made.elf));
	tear_down(&made);
}
