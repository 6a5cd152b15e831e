// SPDX-License-Identifier: GPL-2.0-or-later
/* The program of a process: its ELF class, its identity and its command line. */
#include "proc/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/index_set.h"
#include "proc/read.h"

/* The header up to e_machine, at the same offset in both classes. */
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
	default: /* machines that the kernel may emulate */
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

	if (!proc_exists(pid))
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? proc_program_file_32_bit(fd) : NULL;
}

/* The kernel's own has at most 50 pairs. */
#define AUXV_MAX_BYTES 2048

/* The addresses of the program, its loader, the vdso and the initial stack. */
uint64_t proc_program_id(pid_t tgid, pid_t tid)
{
	cleanup_close int fd = proc_open_task_file(tgid, tid, "auxv");
	uint8_t auxv[AUXV_MAX_BYTES];
	ssize_t got = fd < 0 ? -1 : read(fd, auxv, sizeof(auxv));

	return got > 0 ? hash_bytes(auxv, (size_t)got) | 1 : 0;
}

uint64_t proc_program_entry(pid_t pid)
{
	struct buf bytes = {0};
	uint64_t entry = 0, pair[2];
	size_t at = 0;

	if (!proc_read_process_file(pid, "auxv", &bytes))
		bytes.nr_bytes = 0;
	for (; !entry && at + sizeof(pair) <= bytes.nr_bytes; at += sizeof(pair)) {
		memcpy(pair, bytes.bytes + at, sizeof(pair));
		entry = pair[0] == AT_ENTRY ? pair[1] : 0;
	}
	buf_release(&bytes);
	return entry;
}

/* execve(2) replaces the memory before it sets the name (begin_new_exec() in fs/exec.c). */
bool proc_program_read_comm(uint64_t program, pid_t tgid, pid_t tid, char *out, size_t cap)
{
	return proc_read_comm(tgid, tid, out, cap) &&
	       (!program || proc_program_id(tgid, tid) == program);
}

char *proc_exe(pid_t pid)
{
	char path[4096];

	return proc_read_process_link(pid, "exe", path, sizeof(path)) ? xstrdup(path) : NULL;
}

char *proc_command_line(pid_t pid)
{
	struct buf text = {0};
	char *joined = NULL;

	if (proc_read_process_file(pid, "cmdline", &text) && text.nr_bytes) {
		for (size_t i = 0; i + 1 < text.nr_bytes; i++) {
			if (!text.bytes[i])
				text.bytes[i] = ' ';
		}
		joined = xstrndup(buf_str(&text), text.nr_bytes);
	}
	buf_release(&text);
	return joined;
}
