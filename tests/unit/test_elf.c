// SPDX-License-Identifier: GPL-2.0-or-later
#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/err.h"
#include "elf/elf_exports.h"
#include "elf/elf_image.h"
#include "elf/elf_ranges.h"
#include "tests/unit/tiny_elf.h"
#include "tests/unit/unit.h"

/* Open through a descriptor, as a target's file is. The descriptor closes with the test. */
static struct elf_image *open_bytes(const struct buf *file, int *fd, struct err *err)
{
	*fd = tiny_elf_fd(file);
	assert_true(*fd >= 0);
	return elf_image_open(*fd, err);
}

TEST(elf, garbage_is_refused)
{
	static const char *const texts[] = {"", "#!/bin/sh\n", "\177ELF", "!<arch>\n and so on"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct buf file = {0};
		struct err err = ERR_INIT;
		cleanup_close int fd = -1;

		buf_append_str(&file, texts[i]);
		assert_null(open_bytes(&file, &fd, &err));
		assert_int_equal(err.code, ERR_CORRUPT);
		buf_release(&file);
	}
}

TEST(elf, machine_is_named)
{
	static const struct {
		uint16_t machine;
		enum elf_machine wanted;
	} cases[] = {{EM_X86_64, ELF_MACHINE_X86_64},
		     {EM_AARCH64, ELF_MACHINE_AARCH64},
		     {EM_386, ELF_MACHINE_I386},
		     {EM_S390, ELF_MACHINE_OTHER}};
	struct buf file = {0};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_close int fd = -1;
		struct elf_image *image;

		tiny_elf_begin(&file, cases[i].machine, 0);
		image = open_bytes(&file, &fd, NULL);
		assert_non_null(image);
		assert_int_equal(elf_image_machine(image), cases[i].wanted);
		elf_image_free(image);
	}
	buf_release(&file);
}

TEST(elf, code_without_a_file_is_read)
{
	static const uint8_t code[] = {0x90, 0xc3, 0xf4};
	struct elf_image *image = elf_image_of_code(code, sizeof(code), 0x7f0000001000);
	uint8_t read[4] = {0};

	assert_int_equal(elf_image_read(image, 0x7f0000001001, read, sizeof(read)), 2);
	assert_memory_equal(read, code + 1, 2);
	assert_int_equal(elf_image_read(image, 0x7f0000001003, read, 1), 0);
	assert_int_equal(elf_image_read(image, 0x7f0000000fff, read, 1), 0);
	assert_null(elf_image_cfi(image)->eh_frame.bytes);
	elf_image_free(image);
}

TEST(elf, every_cut_gives_an_error_or_an_image)
{
	struct buf file = {0};

	tiny_elf_begin(&file, EM_X86_64, 2);
	tiny_elf_segment(&file, 0, (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = 4096});
	tiny_elf_segment(&file, 1,
			 (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
				      .p_offset = TINY_ELF_CONTENT(2),
				      .p_filesz = 8});
	buf_append(&file, "\x01\x1b\x03\x3b\0\0\0\0", 8);
	for (size_t nr_bytes = 0; nr_bytes < file.nr_bytes; nr_bytes++) {
		struct buf cut = {.bytes = file.bytes, .nr_bytes = nr_bytes};
		cleanup_close int fd = -1;
		struct elf_image *image = open_bytes(&cut, &fd, NULL);

		if (nr_bytes < sizeof(Elf64_Ehdr))
			assert_null(image);
		if (image)
			assert_null(elf_image_cfi(image)->eh_frame_hdr.bytes);
		elf_image_free(image);
	}
	buf_release(&file);
}

TEST(elf, headers_that_point_outside_are_harmless)
{
	struct buf file = {0};
	cleanup_close int fd = -1;
	struct elf_image *image;

	tiny_elf_begin(&file, EM_X86_64, 1);
	tiny_elf_segment(
		&file, 0,
		(Elf64_Phdr){.p_type = PT_NOTE, .p_offset = UINT64_MAX - 4, .p_filesz = 4096});
	tiny_elf_header(&file)->e_shoff = UINT64_MAX - 64;
	tiny_elf_header(&file)->e_shnum = 65535;
	tiny_elf_header(&file)->e_shentsize = 0;
	image = open_bytes(&file, &fd, NULL);
	if (image)
		assert_null(elf_image_cfi(image)->eh_frame.bytes);
	elf_image_free(image);
	buf_release(&file);
}

TEST(elf, build_id_is_read)
{
	static const uint8_t note[] = {4, 0, 0,	  0,   3,   0, 0,    0,	   3,	 0,
				       0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 0};
	struct buf file = {0};
	cleanup_close int fd = -1;
	struct elf_image *image;
	const uint8_t *build_id;
	size_t nr_bytes;

	tiny_elf_begin(&file, EM_X86_64, 1);
	tiny_elf_segment(&file, 0,
			 (Elf64_Phdr){.p_type = PT_NOTE,
				      .p_offset = TINY_ELF_CONTENT(1),
				      .p_filesz = sizeof(note),
				      .p_align = 4});
	buf_append(&file, note, sizeof(note));
	image = open_bytes(&file, &fd, NULL);
	assert_non_null(image);
	build_id = elf_image_build_id(image, &nr_bytes);
	assert_int_equal(nr_bytes, 3);
	assert_memory_equal(build_id, "\xab\xcd\xef", 3);
	elf_image_free(image);
	buf_release(&file);
}

/*
 * LLD lets a read-only and an executable segment share a page of the file:
 * both begin in the page at 0x1000, mapped one page apart.
 */
TEST(elf, bias_follows_the_right_to_execute)
{
	struct buf file = {0};
	cleanup_close int fd = -1;
	struct elf_image *image;
	uint64_t bias;

	tiny_elf_begin(&file, EM_X86_64, 2);
	tiny_elf_segment(&file, 0,
			 (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x12f0});
	tiny_elf_segment(&file, 1,
			 (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R | PF_X,
				      .p_offset = 0x12f0,
				      .p_vaddr = 0x22f0,
				      .p_filesz = 0x3000});
	image = open_bytes(&file, &fd, NULL);
	assert_non_null(image);
	assert_true(elf_image_bias(image, 0x7f0000000000, 0, false, &bias));
	assert_int_equal(bias, 0x7f0000000000);
	assert_true(elf_image_bias(image, 0x7f0000002000, 0x1000, true, &bias));
	assert_int_equal(bias, 0x7f0000000000);
	/* a later page of the segment, split off by mprotect() */
	assert_true(elf_image_bias(image, 0x7f0000004000, 0x3000, true, &bias));
	assert_int_equal(bias, 0x7f0000000000);
	assert_false(elf_image_bias(image, 0x7f0000009000, 0x9000, true, &bias));
	elf_image_free(image);
	buf_release(&file);
}

/* PT_GNU_EH_FRAME and what it points to, in a file without section headers. */
TEST(elf, cfi_without_section_headers)
{
	struct buf file = {0};
	cleanup_close int fd = -1;
	struct elf_image *image;
	const struct elf_cfi *cfi;
	uint64_t content = TINY_ELF_CONTENT(2);

	tiny_elf_begin(&file, EM_X86_64, 2);
	tiny_elf_segment(
		&file, 0,
		(Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x400000, .p_filesz = content + 16});
	tiny_elf_segment(&file, 1,
			 (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
				      .p_offset = content,
				      .p_vaddr = 0x400000 + content,
				      .p_filesz = 8});
	buf_append(&file, "\x01\x1b\x03\x3b\x04\0\0\0", 8); /* .eh_frame is 4 + 4 further */
	buf_append(&file, "EHFRAME!", 8);
	image = open_bytes(&file, &fd, NULL);
	assert_non_null(image);
	cfi = elf_image_cfi(image);
	assert_int_equal(cfi->eh_frame_hdr.nr_bytes, 8);
	assert_int_equal(cfi->eh_frame_hdr.vaddr, 0x400000 + content);
	assert_int_equal(cfi->eh_frame.nr_bytes, 8);
	assert_int_equal(cfi->eh_frame.vaddr, 0x400000 + content + 8);
	assert_memory_equal(cfi->eh_frame.bytes, "EHFRAME!", 8);
	elf_image_free(image);
	buf_release(&file);
}

#define NAMES "\0.debug_frame\0.shstrtab"

/* A file whose .debug_frame is `packed`, compressed, and claims to unfold to `claimed` bytes. */
static void build_compressed(struct buf *file, const uint8_t *packed, uint64_t nr_packed,
			     uint64_t claimed)
{
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = claimed, .ch_addralign = 1};
	uint64_t content = TINY_ELF_CONTENT(0);
	uint64_t section_bytes = sizeof(header) + nr_packed;
	const Elf64_Shdr sections[] = {
		{0},
		{.sh_name = 1,
		 .sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_COMPRESSED,
		 .sh_offset = content,
		 .sh_size = section_bytes,
		 .sh_addralign = 8},
		{.sh_name = 14,
		 .sh_type = SHT_STRTAB,
		 .sh_offset = content + section_bytes,
		 .sh_size = sizeof(NAMES)},
	};

	tiny_elf_begin(file, EM_X86_64, 0);
	buf_append(file, &header, sizeof(header));
	buf_append(file, packed, nr_packed);
	buf_append(file, NAMES, sizeof(NAMES));
	while (file->nr_bytes % 8)
		buf_append_byte(file, 0);
	tiny_elf_sections(file, sections, ARRAY_SIZE(sections));
}

TEST(elf, compressed_debug_frame_is_unpacked)
{
	static const char plain[] = "call frame information, call frame information";
	uint8_t packed[128];
	uLongf nr_packed = sizeof(packed);
	struct buf file = {0};
	cleanup_close int fd = -1;
	struct elf_image *image;
	const struct elf_cfi *cfi;

	compress(packed, &nr_packed, (const Bytef *)plain, sizeof(plain));
	build_compressed(&file, packed, nr_packed, sizeof(plain));
	image = open_bytes(&file, &fd, NULL);
	assert_non_null(image);
	cfi = elf_image_cfi(image);
	assert_int_equal(cfi->debug_frame.nr_bytes, sizeof(plain));
	assert_memory_equal(cfi->debug_frame.bytes, plain, sizeof(plain));
	elf_image_free(image);
	buf_release(&file);
}

TEST(elf, compression_bomb_is_refused)
{
	uint8_t packed[128] = "whatever";
	struct buf file = {0};

	for (unsigned int shift = 20; shift < 64; shift += 4) {
		cleanup_close int fd = -1;
		struct elf_image *image;

		build_compressed(&file, packed, sizeof(packed), UINT64_C(1) << shift);
		image = open_bytes(&file, &fd, NULL);
		assert_non_null(image);
		assert_null(elf_image_cfi(image)->debug_frame.bytes);
		elf_image_free(image);
	}
	buf_release(&file);
}

static long peak_kb(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_maxrss;
}

#define HUGE_BYTES (UINT64_C(2) << 30)

/* A file of holes, which begins with `file`. */
static int sparse_fd(const struct buf *file)
{
	int fd = tiny_elf_fd(file);

	assert_int_equal(ftruncate(fd, (off_t)(file->nr_bytes + HUGE_BYTES)), 0);
	return fd;
}

/* All of its sections but the names are of one type, and as large as the file. */
static void build_huge(struct buf *file, uint32_t type, uint64_t flags, uint64_t name_bytes)
{
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = 4096, .ch_addralign = 1};
	Elf64_Shdr sections[] = {{0},
				 {.sh_name = 1,
				  .sh_type = type,
				  .sh_flags = flags,
				  .sh_size = HUGE_BYTES,
				  .sh_entsize = UINT64_C(1) << 30,
				  .sh_addralign = 8},
				 {.sh_name = 14, .sh_type = SHT_STRTAB, .sh_size = name_bytes}};

	tiny_elf_begin(file, EM_X86_64, 0);
	sections[2].sh_offset = file->nr_bytes;
	buf_append(file, NAMES, sizeof(NAMES));
	while (file->nr_bytes % 8)
		buf_append_byte(file, 0);
	sections[1].sh_offset = file->nr_bytes + sizeof(sections);
	tiny_elf_sections(file, sections, ARRAY_SIZE(sections));
	buf_append(file, &header, sizeof(header));
}

/* Holes cost the user who makes such a file nothing: what claims too much is not even read. */
TEST(elf, sections_of_a_sparse_file_are_not_read)
{
	static const struct {
		uint32_t type;
		uint64_t flags, name_bytes;
	} cases[] = {
		{SHT_PROGBITS, SHF_COMPRESSED, sizeof(NAMES)},
		{SHT_PROGBITS, 0, sizeof(NAMES)},
		{SHT_SYMTAB, 0, sizeof(NAMES)},
		{SHT_PROGBITS, 0, HUGE_BYTES},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf file = {0};
		cleanup_close int fd = -1;
		struct elf_image *image;
		uint64_t start, end;

		build_huge(&file, cases[i].type, cases[i].flags, cases[i].name_bytes);
		fd = sparse_fd(&file);
		image = elf_image_open(fd, NULL);
		assert_non_null(image);
		assert_null(elf_image_cfi(image)->debug_frame.bytes);
		assert_false(elf_image_function(image, 0x1000, &start, &end));
		assert_true(peak_kb() < (long)(HUGE_BYTES / 1024 / 2));
		elf_image_free(image);
		buf_release(&file);
	}
}

/* The number of sections is in the first one where the header has 0. */
TEST(elf, a_sparse_file_has_no_millions_of_sections)
{
	Elf64_Shdr first = {.sh_size = HUGE_BYTES / sizeof(first)};
	struct buf file = {0};
	cleanup_close int fd = -1;
	struct err err = ERR_INIT;

	tiny_elf_begin(&file, EM_X86_64, 0);
	tiny_elf_sections(&file, &first, 1);
	tiny_elf_header(&file)->e_shnum = 0;
	fd = sparse_fd(&file);
	assert_null(elf_image_open(fd, &err));
	assert_int_equal(err.code, ERR_CORRUPT);
	assert_true(peak_kb() < (long)(HUGE_BYTES / 1024 / 2));
	buf_release(&file);
}

/* Read in the file of this program, and as the loader has made them. */
static int pointed_to;
static int *const pointers[] = {NULL, &pointed_to, NULL, &pointed_to};

TEST(elf, words_are_as_the_loader_makes_them)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_image *image = elf_image_open(fd, NULL);
	uint64_t words[ARRAY_SIZE(pointers)], bias = 0, at = (uintptr_t)pointers;
	Dl_info info;

	assert_non_null(image);
	/* A program that is linked statically may be at the addresses of its file. */
	if (elf_image_segment(image, 0)->vaddr == 0 && dladdr((const void *)pointers, &info))
		bias = (uintptr_t)info.dli_fbase;
	assert_int_equal(elf_image_words(image, at - bias, words, ARRAY_SIZE(words)),
			 ARRAY_SIZE(words));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_int_equal(words[i], i % 2 ? (uintptr_t)&pointed_to - bias : 0);
	assert_int_equal(elf_image_words(image, UINT64_MAX - 64, words, 1), 0);
	elf_image_free(image);
	close(fd);
}

TEST(elf, exports_are_found_by_name)
{
	static const char *const names[] = {"malloc", "no_such_function", "environ"};
	void *library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	struct link_map *map = NULL;
	struct elf_image *image;
	uint64_t values[3];
	int fd;

	assert_non_null(library);
	assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	fd = open(map->l_name, O_RDONLY | O_CLOEXEC);
	image = elf_image_open(fd, NULL);
	assert_non_null(image);
	assert_int_equal(elf_image_exports(image, names, 3, values), 2);
	assert_int_equal(map->l_addr + values[0], (uintptr_t)dlsym(library, "malloc"));
	assert_int_equal(values[1], 0);
	assert_int_equal(map->l_addr + values[2], (uintptr_t)dlsym(library, "environ"));
	elf_image_free(image);
	image = elf_image_of_code("", 1, 0);
	assert_int_equal(elf_image_exports(image, names, 3, values), 0);
	elf_image_free(image);
	close(fd);
	dlclose(library);
}

static char *read_whole(int fd, size_t *nr_bytes)
{
	struct stat status;
	char *bytes;

	assert_int_equal(fstat(fd, &status), 0);
	*nr_bytes = (size_t)status.st_size;
	bytes = xmalloc(*nr_bytes);
	assert_int_equal(pread(fd, bytes, *nr_bytes, 0), status.st_size);
	return bytes;
}

/* As if the file had been linked without hashes of GNU's. */
static void hide_hashes(char *file)
{
	const Elf64_Ehdr *header = (const void *)file;
	Elf64_Shdr *sections = (void *)(file + header->e_shoff);

	for (size_t i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type == SHT_GNU_HASH)
			sections[i].sh_type = SHT_PROGBITS;
	}
}

TEST(elf, exports_are_found_with_hashes_as_without)
{
	void *library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	struct link_map *map = NULL;
	cleanup_free char *hashed_file = NULL, *unhashed_file = NULL;
	size_t nr_bytes;
	GElf_Shdr header = {0};
	Elf_Scn *section = NULL;
	Elf *hashed, *unhashed;
	Elf_Data *data;
	int fd;

	assert_non_null(library);
	assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	fd = open(map->l_name, O_RDONLY | O_CLOEXEC);
	hashed_file = read_whole(fd, &nr_bytes);
	unhashed_file = xmemdup(hashed_file, nr_bytes);
	hide_hashes(unhashed_file);
	hashed = elf_memory(hashed_file, nr_bytes);
	unhashed = elf_memory(unhashed_file, nr_bytes);
	while ((section = elf_nextscn(hashed, section)) && gelf_getshdr(section, &header) &&
	       header.sh_type != SHT_DYNSYM)
		;
	data = elf_getdata(section, NULL);
	for (int i = 1; i < (int)(header.sh_size / header.sh_entsize); i++) {
		uint64_t found = 0, expected = 0;
		const char *name;
		GElf_Sym symbol;

		assert_non_null(gelf_getsym(data, i, &symbol));
		name = elf_strptr(hashed, header.sh_link, symbol.st_name);
		assert_int_equal(elf_exports_find(hashed, fd, &name, 1, &found),
				 elf_exports_find(unhashed, fd, &name, 1, &expected));
		assert_int_equal(found, expected);
		assert_int_equal(elf_exports_find_thread_variable(hashed, fd, name, &found),
				 elf_exports_find_thread_variable(unhashed, fd, name, &expected));
		assert_int_equal(found, expected);
	}
	elf_end(hashed);
	elf_end(unhashed);
	close(fd);
	dlclose(library);
}

TEST(elf, memory_image_keeps_its_own_copy)
{
	struct buf file = {0};
	struct elf_image *image;

	tiny_elf_begin(&file, EM_AARCH64, 1);
	tiny_elf_segment(&file, 0,
			 (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_X, .p_filesz = 0x100});
	image = elf_image_open_memory(file.bytes, file.nr_bytes, NULL);
	buf_release(&file);
	assert_non_null(image);
	assert_int_equal(elf_image_nr_segments(image), 1);
	assert_true(elf_image_segment(image, 0)->executable);
	assert_null(elf_image_cfi(image)->eh_frame.bytes);
	elf_image_free(image);
}

/* Some linkers put data into the same segment as code. Without headers all may be code. */
TEST(elf, data_is_told_by_section_headers)
{
	static const Elf64_Shdr sections[] = {
		{.sh_type = SHT_NULL},
		{.sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_ALLOC,
		 .sh_addr = 0x3000,
		 .sh_size = 0x10},
		{.sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		 .sh_addr = 0x2000,
		 .sh_size = 0x100},
		{.sh_type = SHT_DYNSYM, .sh_flags = SHF_ALLOC, .sh_addr = 0x1000, .sh_size = 0x20},
		{.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC, .sh_addr = 0x4000, .sh_size = 0x20},
		{.sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_ALLOC,
		 .sh_addr = UINT64_MAX,
		 .sh_size = 9},
		{.sh_type = SHT_STRTAB, .sh_size = 1},
	};
	struct elf_ranges data = {.nr = 0};
	struct buf file = {0};
	struct elf_image *image;

	tiny_elf_begin(&file, EM_X86_64, 0);
	image = elf_image_open_memory(file.bytes, file.nr_bytes, NULL);
	elf_image_data(image, &data);
	assert_int_equal(data.nr, 0);
	elf_image_free(image);
	tiny_elf_sections(&file, sections, ARRAY_SIZE(sections));
	image = elf_image_open_memory(file.bytes, file.nr_bytes, NULL);
	elf_image_data(image, &data);
	assert_int_equal(data.nr, 2);
	assert_int_equal(data.at[0].start, 0x1000);
	assert_int_equal(data.at[0].end, 0x1020);
	assert_int_equal(data.at[1].start, 0x3000);
	assert_int_equal(data.at[1].end, 0x3010);
	elf_image_free(image);
	elf_ranges_release(&data);
	buf_release(&file);
}
