/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_MADE_SPACE_H
#define PROFC_TESTS_MADE_SPACE_H

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mapping/space.h"
#include "tests/unit/cfi_bytes.h"
#include "tests/unit/tiny_elf.h"

/*
 * An address space that no process has: a program whose .eh_frame the test
 * writes, with four pages of code at MADE_CODE, memory for run-time code at
 * MADE_JIT, a stack at MADE_STACK and a second one at MADE_OTHER_STACK.
 */
#define MADE_CODE	 UINT64_C(0x400000)
#define MADE_CODE_BYTES	 UINT64_C(0x4000)
#define MADE_JIT	 UINT64_C(0x7f0000000000)
#define MADE_JIT_BYTES	 UINT64_C(0x10000)
#define MADE_OTHER_STACK UINT64_C(0x600000)
#define MADE_STACK	 UINT64_C(0x7ffe00000000)
#define MADE_STACK_BYTES UINT64_C(0x10000000)
#define MADE_VSYSCALL	 UINT64_C(0xffffffffff600000)

struct made_space {
	struct module_table *modules;
	struct space *space;
	char path[64];
};

/* The ELF file; its code is zeros but for what the test puts into `code`, from MADE_CODE + 0x1000.
 */
static inline void made_file(struct buf *file, uint16_t machine, const struct buf *eh_frame,
			     const struct buf *code)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";
	uint64_t content = TINY_ELF_CONTENT(1);
	Elf64_Shdr sections[] = {
		{0},
		{.sh_name = 1,
		 .sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_ALLOC,
		 .sh_addr = MADE_CODE + content,
		 .sh_offset = content,
		 .sh_size = eh_frame->nr_bytes},
		{.sh_name = 11, .sh_type = SHT_STRTAB, .sh_size = sizeof(names)},
	};

	tiny_elf_begin(file, machine, 1);
	tiny_elf_segment(file, 0,
			 (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R | PF_X,
				      .p_vaddr = MADE_CODE,
				      .p_filesz = MADE_CODE_BYTES,
				      .p_memsz = MADE_CODE_BYTES});
	buf_append(file, eh_frame->bytes, eh_frame->nr_bytes);
	assert(file->nr_bytes < 0x1000);
	memset(buf_extend(file, MADE_CODE_BYTES - file->nr_bytes), 0,
	       MADE_CODE_BYTES - content - eh_frame->nr_bytes);
	if (code->nr_bytes)
		memcpy(file->bytes + 0x1000, code->bytes, code->nr_bytes);
	sections[2].sh_offset = file->nr_bytes;
	buf_append(file, names, sizeof(names));
	while (file->nr_bytes % 8)
		buf_append_byte(file, 0);
	tiny_elf_sections(file, sections, 3);
}

static inline void made_maps(struct buf *maps, const char *path)
{
	struct stat stat_of_file;
	int failed = stat(path, &stat_of_file);

	assert(!failed);
	buf_printf(maps, "%" PRIx64 "-%" PRIx64 " r-xp 00000000 %x:%x %ju %s\n", MADE_CODE,
		   MADE_CODE + MADE_CODE_BYTES, major(stat_of_file.st_dev),
		   minor(stat_of_file.st_dev), (uintmax_t)stat_of_file.st_ino, path);
	buf_printf(maps, "%" PRIx64 "-%" PRIx64 " rw-p 00000000 00:00 0\n", MADE_OTHER_STACK,
		   MADE_OTHER_STACK + 0x10000);
	buf_printf(maps, "%" PRIx64 "-%" PRIx64 " rwxp 00000000 00:00 0\n", MADE_JIT,
		   MADE_JIT + MADE_JIT_BYTES);
	buf_printf(maps, "%" PRIx64 "-%" PRIx64 " rw-p 00000000 00:00 0 [stack]\n", MADE_STACK,
		   MADE_STACK + MADE_STACK_BYTES);
	buf_printf(maps, "%" PRIx64 "-%" PRIx64 " --xp 00000000 00:00 0 [vsyscall]\n",
		   MADE_VSYSCALL, MADE_VSYSCALL + 0x1000);
}

static inline void made_space_set_up(struct made_space *made, uint16_t machine,
				     const struct buf *eh_frame, const struct buf *code)
{
	struct buf file = {0};
	struct buf maps = {0};
	int fd;
	bool written;

	*made = (struct made_space){.modules = module_table_new(), .path = "/tmp/made-XXXXXX"};
	made_file(&file, machine, eh_frame, code);
	fd = mkstemp(made->path);
	written = fd >= 0 && write(fd, file.bytes, file.nr_bytes) == (ssize_t)file.nr_bytes;
	assert(written);
	close(fd);
	made_maps(&maps, made->path);
	made->space = space_new(made->modules, getpid());
	written = !space_update(made->space, (const char *)maps.bytes, maps.nr_bytes, NULL);
	assert(written);
	buf_release(&file);
	buf_release(&maps);
}

static inline void made_space_tear_down(struct made_space *made)
{
	unlink(made->path);
	space_free(made->space);
	module_table_free(made->modules);
}

#endif
