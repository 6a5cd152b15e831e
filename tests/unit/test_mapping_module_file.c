// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf_cut.h"
#include "elf/elf_edition.h"
#include "mapping/module.h"
#include "mapping/module_file.h"
#include "tests/unit/tiny_elf.h"
#include "tests/unit/unit.h"

#define FILE_BYTES 0x3000

/* A program of three pages with a note, its code in the second. */
static int program(uint32_t note_type, const char *owner, const char *note)
{
	struct buf file = {0};
	Elf64_Nhdr header = {.n_namesz = 4, .n_descsz = 8, .n_type = note_type};
	int fd;

	tiny_elf_begin(&file, EM_X86_64, 2);
	tiny_elf_segment(&file, 0,
			 (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R | PF_X,
				      .p_offset = 0x1000,
				      .p_vaddr = 0x1000,
				      .p_filesz = 0x1000});
	tiny_elf_segment(&file, 1,
			 (Elf64_Phdr){.p_type = PT_NOTE,
				      .p_offset = TINY_ELF_CONTENT(2),
				      .p_filesz = sizeof(header) + 12});
	buf_append(&file, &header, sizeof(header));
	buf_append(&file, owner, 4);
	buf_append(&file, note, 8);
	memset(buf_extend(&file, FILE_BYTES - file.nr_bytes), 0x90, FILE_BYTES - file.nr_bytes);
	fd = tiny_elf_fd(&file);
	assert_true(fd >= 0);
	buf_release(&file);
	return fd;
}

static int program_without_id(void)
{
	return program(77, "Own\0", "whatever");
}

static uint64_t modified_ns(int fd)
{
	struct stat found;

	assert_int_equal(fstat(fd, &found), 0);
	return (uint64_t)found.st_mtim.tv_sec * 1000000000 + (uint64_t)found.st_mtim.tv_nsec;
}

static struct module module_of(int fd)
{
	return (struct module){.kind = MODULE_KIND_FILE,
			       .file_bytes = FILE_BYTES,
			       .modified_ns = modified_ns(fd),
			       .fingerprint = elf_edition_of(fd).fingerprint,
			       .fd = -1};
}

static void assert_same(const struct module *module, int fd)
{
	char *difference = module_file_difference(module, fd, fd);

	if (difference)
		fail_msg("%s", difference);
}

static void assert_differs(const struct module *module, int fd, const char *why)
{
	char *difference = module_file_difference(module, fd, fd);

	assert_non_null(difference);
	assert_int_equal(strncmp(difference, MODULE_REPLACED, strlen(MODULE_REPLACED)), 0);
	if (!strstr(difference, why))
		fail_msg("\"%s\" does not say \"%s\"", difference, why);
	free(difference);
}

/* Set a byte and put the time of modification back, as whoever packs reproducibly does. */
static void change(int fd, off_t offset)
{
	struct stat before;

	assert_int_equal(fstat(fd, &before), 0);
	assert_int_equal(pwrite(fd, "x", 1, offset), 1);
	assert_int_equal(futimens(fd, (struct timespec[]){before.st_atim, before.st_mtim}), 0);
}

TEST(module_file, contents_tell_files_without_build_id_apart)
{
	static const off_t read[] = {0x800, 0x1800, 0x2fff};

	for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++) {
		int fd = program_without_id();
		struct module module = module_of(fd);

		assert_true(module.fingerprint != 0);
		assert_same(&module, fd);
		change(fd, read[i]);
		assert_differs(&module, fd, "headers, code or symbols");
		close(fd);
	}
}

/* A stripped program's names are in the midst of it, far from its headers and its end. */
TEST(module_file, all_of_a_file_is_its_contents)
{
	int fd = program_without_id();
	struct module module;

	assert_int_equal(ftruncate(fd, 300000), 0);
	module = module_of(fd);
	module.file_bytes = 300000;
	assert_same(&module, fd);
	change(fd, 150000);
	assert_differs(&module, fd, "headers, code or symbols");
	close(fd);
}

TEST(module_file, size_and_time_count_without_build_id)
{
	int fd = program_without_id();
	struct module module = module_of(fd);

	module.file_bytes++;
	assert_differs(&module, fd, "12288 bytes, recorded 12289");
	module.file_bytes = FILE_BYTES;
	module.modified_ns = 1700000000123000000;
	assert_differs(&module, fd, "recorded 2023-11-14 22:13:20.123 UTC");
	close(fd);
}

/* They recorded the size alone. */
TEST(module_file, old_recordings_go_by_the_size)
{
	int fd = program_without_id();
	struct module module = {.kind = MODULE_KIND_FILE, .file_bytes = FILE_BYTES, .fd = -1};

	assert_same(&module, fd);
	module.file_bytes = 1;
	assert_differs(&module, fd, "12288 bytes, recorded 1");
	close(fd);
}

TEST(module_file, a_build_id_decides_alone)
{
	int fd = program(NT_GNU_BUILD_ID, "GNU\0", "abcdefgh");
	struct module module = {.kind = MODULE_KIND_FILE,
				.file_bytes = 5,
				.modified_ns = 6,
				.nr_build_id_bytes = 8,
				.build_id = "abcdefgh",
				.fd = -1};

	assert_same(&module, fd);
	module.build_id[7] = 'i';
	assert_differs(&module, fd, "build-id 6162636465666768, recorded 6162636465666769");
	module.nr_build_id_bytes = 0;
	module.fingerprint = 3;
	assert_differs(&module, fd, "build-id 6162636465666768, recorded none");
	close(fd);
}

/* Stripped or copied, a Go program is still of the build that its linker has noted. */
TEST(module_file, the_build_id_of_go_decides_alone)
{
	int fd = program(4, "Go\0\0", "aaa/bbbb"), other = program(4, "Go\0\0", "aaa/cccc");
	struct module module = module_of(fd);

	module.file_bytes = 1;
	module.modified_ns = 2;
	change(fd, 0x2fff);
	assert_same(&module, fd);
	assert_differs(&module, other, "another Go build id");
	close(fd);
	close(other);
}

TEST(elf_cut, an_image_is_cut_out_of_an_archive)
{
	int whole = program_without_id(), archive = memfd_create("archive", MFD_CLOEXEC);
	static uint8_t bytes[FILE_BYTES], found[FILE_BYTES];
	int cut;

	assert_int_equal(pread(whole, bytes, sizeof(bytes), 0), FILE_BYTES);
	assert_int_equal(pwrite(archive, bytes, sizeof(bytes), 0x2000), FILE_BYTES);
	assert_false(elf_begins_at(archive, 0));
	assert_true(elf_begins_at(archive, 0x2000));
	assert_int_equal(elf_cut_out(archive, 0), -1);
	cut = elf_cut_out(archive, 0x2000);
	assert_true(cut >= 0);
	/* As far as its headers say, which know of no section behind the code. */
	assert_int_equal(pread(cut, found, sizeof(found), 0), 0x2000);
	assert_memory_equal(found, bytes, 0x2000);
	close(cut);
	close(archive);
	close(whole);
}

TEST(elf_cut, headers_that_lie_ask_for_no_more_than_there_is)
{
	int fd = program_without_id();
	Elf64_Phdr segment = {.p_type = PT_LOAD, .p_offset = 0x1000, .p_filesz = 0x10000000};
	struct stat found;
	int cut;

	assert_int_equal(pwrite(fd, &segment, sizeof(segment), sizeof(Elf64_Ehdr)),
			 sizeof(segment));
	cut = elf_cut_out(fd, 0);
	assert_int_equal(fstat(cut, &found), 0);
	assert_int_equal(found.st_size, FILE_BYTES);
	close(cut);
	assert_int_equal(ftruncate(fd, sizeof(Elf64_Ehdr) - 1), 0);
	assert_int_equal(elf_cut_out(fd, 0), -1);
	close(fd);
}
