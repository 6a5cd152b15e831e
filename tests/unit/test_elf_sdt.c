// SPDX-License-Identifier: GPL-2.0-or-later
/* The notes of static probes, as this program has them. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf_image.h"
#include "elf/elf_sdt.h"
#include "tests/unit/unit.h"

#define NOTE(words, texts)                                                                         \
	__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n"                                       \
		".balign 4\n"                                                                      \
		".4byte 8, 2f-1f, 3\n"                                                             \
		".asciz \"stapsdt\"\n"                                                             \
		"1:	" words "\n"                                                               \
		"	" texts "\n"                                                               \
		"2:	.balign 4\n"                                                                   \
		".popsection\n")

/* The base is where it was linked to be: another one has moved by this. */
NOTE(".8byte 0x1234, 0, 0x5678", ".asciz \"shop\", \"sale__begin\", \"8@%rax\"");
NOTE(".8byte 0x2345, 0, 0", ".asciz \"shop\", \"sale__end\", \"\"");
/* None of these is whole. */
NOTE(".8byte 1, 2", "");
NOTE(".8byte 1, 2, 3", ".ascii \"shop\"");
NOTE(".8byte 1, 2, 3", ".asciz \"shop\"\n.ascii \"cut\"");
NOTE(".8byte 1, 2, 3", ".asciz \"\", \"name\"");

TEST(elf_sdt, probes_have_a_provider_a_name_and_perhaps_a_semaphore)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_image *image = elf_image_open(fd, NULL);
	struct elf_sdt sdt = {.nr = 0};

	assert_non_null(image);
	elf_image_sdt(image, &sdt);
	assert_int_equal(sdt.nr, 2);
	assert_string_equal(sdt.at[0].provider, "shop");
	assert_string_equal(sdt.at[0].name, "sale__begin");
	assert_int_equal(sdt.at[0].address, 0x1234);
	assert_int_equal(sdt.at[0].semaphore, 0x5678);
	assert_string_equal(sdt.at[1].name, "sale__end");
	assert_int_equal(sdt.at[1].semaphore, 0);
	elf_sdt_release(&sdt);
	elf_image_free(image);
	close(fd);
}
