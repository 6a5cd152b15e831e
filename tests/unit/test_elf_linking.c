// SPDX-License-Identifier: GPL-2.0-or-later
#include <unistd.h>

#include "elf/elf_image.h"
#include "elf/elf_linking.h"
#include "tests/unit/tiny_elf.h"
#include "tests/unit/unit.h"

/* Where the texts are, after so many rows. */
#define TEXTS(nr_rows) (TINY_ELF_CONTENT(2) + (nr_rows) * sizeof(Elf64_Dyn))

/* A file with one segment that has these rows and then these texts. */
static void read_rows(const Elf64_Dyn *rows, size_t nr_row_bytes, struct elf_linking *linking)
{
	static const char texts[] = "\0libown.so.1\0libother.so.2\0/opt/libthird.so";
	struct buf file = {0};
	uint64_t content = TINY_ELF_CONTENT(2);
	struct elf_image *image;
	int fd;

	tiny_elf_begin(&file, EM_X86_64, 2);
	tiny_elf_segment(&file, 0,
			 (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_filesz = content + nr_row_bytes + sizeof(texts)});
	tiny_elf_segment(
		&file, 1,
		(Elf64_Phdr){.p_type = PT_DYNAMIC, .p_vaddr = content, .p_filesz = nr_row_bytes});
	buf_append(&file, rows, nr_row_bytes);
	buf_append(&file, texts, sizeof(texts));
	fd = tiny_elf_fd(&file);
	image = elf_image_open(fd, NULL);
	assert_non_null(image);
	elf_linking_read(image, linking);
	elf_image_free(image);
	close(fd);
	buf_release(&file);
}

TEST(elf_linking, names_are_read)
{
	const Elf64_Dyn rows[] = {
		{.d_tag = DT_NEEDED, .d_un.d_val = 13},
		{.d_tag = DT_NEEDED, .d_un.d_val = 27},
		{.d_tag = DT_SONAME, .d_un.d_val = 1},
		{.d_tag = DT_STRTAB, .d_un.d_ptr = TEXTS(7)},
		{.d_tag = DT_FLAGS_1, .d_un.d_val = DF_1_NODELETE | DF_1_NOW},
		{.d_tag = DT_NULL},
		{.d_tag = DT_NEEDED, .d_un.d_val = 1},
	};
	struct elf_linking linking;

	read_rows(rows, sizeof(rows), &linking);
	assert_true(linking.name == elf_linking_name("/usr/lib/libown.so.1"));
	assert_true(linking.is_never_unloaded);
	assert_int_equal(linking.nr_needed, 2);
	assert_true(linking.needed[0] == elf_linking_name("libother.so.2"));
	assert_true(linking.needed[1] == elf_linking_name("libthird.so"));
	elf_linking_release(&linking);
}

TEST(elf_linking, names_outside_the_file_are_none)
{
	const Elf64_Dyn rows[] = {
		{.d_tag = DT_NEEDED, .d_un.d_val = UINT64_MAX},
		{.d_tag = DT_NEEDED, .d_un.d_val = UINT64_MAX / 2},
		{.d_tag = DT_NEEDED, .d_un.d_val = 0},
		{.d_tag = DT_STRTAB, .d_un.d_ptr = TEXTS(4)},
	};
	struct elf_linking linking;

	read_rows(rows, sizeof(rows), &linking);
	assert_int_equal(linking.nr_needed, 0);
	assert_false(linking.is_never_unloaded);
	elf_linking_release(&linking);
}
