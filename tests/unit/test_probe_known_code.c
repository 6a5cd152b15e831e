// SPDX-License-Identifier: GPL-2.0-or-later
/* What a file says of its code, and of the words that its code jumps through. */
#include "base/buf.h"
#include "elf/elf_image.h"
#include "probe/known_code.h"
#include "tests/unit/tiny_elf.h"
#include "tests/unit/unit.h"

#define WORDS	 UINT64_C(0x3000)
#define IN_FILE	 UINT64_C(0x1610) /* the start of the PLT */
#define NO_WORDS UINT64_C(0x5000)
#define BIAS	 UINT64_C(0x555555000000)

static struct elf_image *image_of_words(void)
{
	static const uint64_t words[] = {IN_FILE, 0};
	struct buf file = {0};
	struct elf_image *image;

	tiny_elf_begin(&file, EM_X86_64, 1);
	tiny_elf_segment(&file, 0,
			 (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R | PF_W,
				      .p_offset = TINY_ELF_CONTENT(1),
				      .p_vaddr = WORDS,
				      .p_filesz = sizeof(words),
				      .p_memsz = sizeof(words)});
	buf_append(&file, words, sizeof(words));
	image = elf_image_open_memory(file.bytes, file.nr_bytes, NULL);
	assert_non_null(image);
	buf_release(&file);
	return image;
}

TEST(known_code, word_is_unbound_while_it_is_that_of_the_file)
{
	struct elf_image *image = image_of_words();

	assert_true(known_code_is_unbound(image, WORDS, BIAS, IN_FILE)); /* not relocated */
	assert_true(known_code_is_unbound(image, WORDS, BIAS, IN_FILE + BIAS));
	assert_false(known_code_is_unbound(image, WORDS, BIAS, UINT64_C(0x7ffff7d00000)));
	assert_false(known_code_is_unbound(image, WORDS, BIAS, IN_FILE + BIAS + 0x40));
	/* Bound before the program runs: the file has nothing there. */
	assert_true(known_code_is_unbound(image, WORDS + 8, BIAS, 0));
	assert_false(known_code_is_unbound(image, WORDS + 8, BIAS, UINT64_C(0x7ffff7d00000)));
	assert_false(known_code_is_unbound(image, NO_WORDS, BIAS, IN_FILE));
	elf_image_free(image);
}
