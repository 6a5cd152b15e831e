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
NOTE(".8byte 0x3456, 0, 0", ".asciz \"shop\", \"other\", \"\"");
/* None of these is whole. */
NOTE(".8byte 1, 2", "");
NOTE(".8byte 1, 2, 3", ".ascii \"shop\"");
NOTE(".8byte 1, 2, 3", ".asciz \"shop\"\n.ascii \"cut\"");
/* Far more than are believed in. */
__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n"
	".rept 65535\n"
	".balign 4\n"
	".4byte 8, 32, 3\n"
	".asciz \"stapsdt\"\n"
	".8byte 1, 0, 2\n"
	".asciz \"many\", \"n\", \"\"\n"
	".balign 4\n"
	".endr\n"
	".popsection\n");

static int wants_sales(const void *context, const char *provider, const char *name)
{
	(void)context;
	if (strcmp(provider, "shop") != 0)
		return -1;
	return strcmp(name, "sale__begin") == 0 ? 6 : strcmp(name, "sale__end") == 0 ? 7 : -1;
}

static int wants_many(const void *context, const char *provider, const char *name)
{
	(void)context;
	(void)name;
	return strcmp(provider, "many") == 0 ? 0 : -1;
}

static void load(struct elf_sdt *sdt)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_image *image = elf_image_open(fd, NULL);

	assert_non_null(image);
	elf_image_sdt(image, sdt);
	elf_image_free(image);
	close(fd);
}

TEST(elf_sdt, wanted_probes_have_a_place_and_perhaps_a_semaphore)
{
	struct elf_sdt sdt = {.wants = wants_sales};

	load(&sdt);
	assert_int_equal(sdt.nr, 2);
	assert_int_equal(sdt.at[0].number, 6);
	assert_int_equal(sdt.at[0].address, 0x1234);
	assert_int_equal(sdt.at[0].semaphore, 0x5678);
	assert_int_equal(sdt.at[1].number, 7);
	assert_int_equal(sdt.at[1].address, 0x2345);
	assert_int_equal(sdt.at[1].semaphore, 0);
	elf_sdt_release(&sdt);
}

TEST(elf_sdt, no_more_of_a_name_are_kept_than_are_believed_in)
{
	struct elf_sdt sdt = {.wants = wants_many};

	load(&sdt);
	assert_int_equal(sdt.nr, ELF_SDT_SITES_MAX + 1);
	elf_sdt_release(&sdt);
}
