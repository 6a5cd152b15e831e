// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

/* As far as e_machine, which stands at the same place in both classes. */
#define HEAD_BYTES (offsetof(Elf32_Ehdr, e_machine) + sizeof(Elf32_Half))

const char *proc_program_32_bit(const void *bytes, size_t nr_bytes)
{
	Elf32_Ehdr header = {.e_machine = EM_NONE};

	if (nr_bytes < HEAD_BYTES)
		return NULL;
	memcpy(&header, bytes, HEAD_BYTES);
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS32)
		return NULL;
	switch (header.e_machine) {
	case EM_386:
		return "i386";
	case EM_X86_64:
		return "x32";
	case EM_ARM:
		return "arm";
	default: /* machines that this one may emulate */
		return "32-bit";
	}
}

const char *proc_program_file_32_bit(int fd)
{
	uint8_t head[HEAD_BYTES];
	ssize_t nr_bytes = pread(fd, head, sizeof(head), 0);

	return nr_bytes > 0 ? proc_program_32_bit(head, (size_t)nr_bytes) : NULL;
}

const char *proc_program_process_32_bit(pid_t pid)
{
	char path[32];
	cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? proc_program_file_32_bit(fd) : NULL;
}
