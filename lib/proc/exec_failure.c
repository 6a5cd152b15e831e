// SPDX-License-Identifier: GPL-2.0-or-later
/* Explains why a program cannot be executed. */
#include "proc/exec_failure.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "proc/program.h"
#include "proc/search_path.h"

/* At least as many bytes of a program's start as the kernel reads (BINPRM_BUF_SIZE). */
#define HEAD_BYTES	    4096
#define MAX_PROGRAM_HEADERS 64

/* "#! /usr/bin/env python" -> "/usr/bin/env" */
static void append_script_interpreter(struct buf *out, const char *head, size_t nr_bytes)
{
	size_t at = 2, end;

	while (at < nr_bytes && (head[at] == ' ' || head[at] == '\t'))
		at++;
	end = at;
	while (end < nr_bytes && head[end] && !strchr(" \t\r\n", head[end]))
		end++;
	buf_append(out, head + at, end - at);
}

static void append_text_at(struct buf *out, int fd, const Elf64_Phdr *header)
{
	char path[HEAD_BYTES];
	size_t wanted = header->p_filesz < sizeof(path) ? header->p_filesz : sizeof(path);
	ssize_t nr_bytes = pread(fd, path, wanted, (off_t)header->p_offset);

	if (nr_bytes > 0)
		buf_append(out, path, strnlen(path, (size_t)nr_bytes));
}

static void append_loader(struct buf *out, int fd, const Elf64_Ehdr *elf)
{
	for (unsigned int i = 0; i < elf->e_phnum && i < MAX_PROGRAM_HEADERS; i++) {
		off_t at = (off_t)(elf->e_phoff + (uint64_t)i * sizeof(Elf64_Phdr));
		Elf64_Phdr header;

		if (pread(fd, &header, sizeof(header), at) != sizeof(header))
			return;
		if (header.p_type == PT_INTERP) {
			append_text_at(out, fd, &header);
			return;
		}
	}
}

static void append_interpreter(struct buf *out, int fd)
{
	union {
		char bytes[HEAD_BYTES];
		Elf64_Ehdr elf;
	} head;
	ssize_t nr_bytes = pread(fd, &head, sizeof(head), 0);

	if (nr_bytes > 2 && head.bytes[0] == '#' && head.bytes[1] == '!')
		append_script_interpreter(out, head.bytes, (size_t)nr_bytes);
	else if (nr_bytes >= (ssize_t)sizeof(head.elf) &&
		 memcmp(head.elf.e_ident, ELFMAG, SELFMAG) == 0 &&
		 head.elf.e_ident[EI_CLASS] == ELFCLASS64 &&
		 head.elf.e_phentsize == sizeof(Elf64_Phdr))
		append_loader(out, fd, &head.elf);
}

static int open_program(const char *directories, const char *program)
{
	struct buf path = {0};
	int fd;

	if (strchr(program, '/'))
		buf_append_str(&path, program);
	else
		search_path_find(directories, program, &path);
	/* O_NONBLOCK: a FIFO of that name must not block. */
	fd = open(buf_str(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	buf_release(&path);
	return fd;
}

int exec_refuse_32_bit(const char *directories, const char *program, struct err *err)
{
	cleanup_close int fd = open_program(directories, program);
	const char *bits = fd >= 0 ? proc_program_file_32_bit(fd) : NULL;

	if (!bits)
		return 0;
	return err_set(err, ERR_UNSUPPORTED,
		       "'%s' is a 32-bit program (%s): profc supports 64-bit programs only",
		       program, bits);
}

/* Its path is appended to `interpreter`. */
static bool interpreter_is_missing(const char *directories, const char *program,
				   struct buf *interpreter)
{
	size_t before = interpreter->nr_bytes;
	cleanup_close int fd = open_program(directories, program);

	if (fd >= 0)
		append_interpreter(interpreter, fd);
	return interpreter->nr_bytes > before && access(buf_str(interpreter) + before, F_OK) != 0;
}

static bool is_script(const char *directories, const char *program)
{
	cleanup_close int fd = open_program(directories, program);
	char head[2];

	return fd >= 0 && pread(fd, head, sizeof(head), 0) == sizeof(head) &&
	       memcmp(head, "#!", sizeof(head)) == 0;
}

int exec_failure_foresee(const char *directories, const char *program)
{
	struct buf text = {0};
	int reason = 0;

	if (strchr(program, '/'))
		reason = eaccess(program, X_OK) < 0 ? errno : 0;
	else if (!search_path_find(directories, program, &text))
		reason = search_path_lacks(directories, program, &text) ? ENOENT : EACCES;
	buf_clear(&text);
	/*
	 * Not for binaries, which may be for an emulated machine (binfmt_misc), nor for names
	 * searched in PATH: execvp(3) then continues with the next directory.
	 */
	if (!reason && strchr(program, '/') && is_script(directories, program) &&
	    interpreter_is_missing(directories, program, &text))
		reason = ENOENT;
	buf_release(&text);
	return reason;
}

static void hint_at_search(struct err *err, struct buf *closed)
{
	if (closed->nr_bytes)
		err_hint(err, "not found in the directories of PATH; '%s' may not be searched",
			 buf_str(closed));
	else
		err_hint(err, "not found in any directory of PATH");
}

/* Also for root, which is exempt from other permissions. */
static bool is_not_executable(const char *program)
{
	struct stat status;

	return stat(program, &status) == 0 && S_ISREG(status.st_mode) &&
	       (status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0;
}

static bool is_directory(const char *program)
{
	struct stat status;

	return stat(program, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A number is more likely a process id than a program in PATH. */
static bool is_number(const char *program)
{
	return *program && !program[strspn(program, "0123456789")];
}

int exec_failure_explain(const char *directories, const char *program, int reason, struct err *err)
{
	struct buf path = {0};
	bool is_nowhere = !strchr(program, '/') && search_path_lacks(directories, program, &path);

	errno = is_nowhere ? ENOENT : is_directory(program) ? EISDIR : reason;
	err_sys(err, "cannot run '%s'", program);
	if (is_nowhere && is_number(program)) {
		err_hint(err, "to record process %s, use -p %s", program, program);
	} else if (is_nowhere) {
		hint_at_search(err, &path);
	} else {
		buf_clear(&path);
		if (reason == ENOENT && interpreter_is_missing(directories, program, &path))
			err_hint(err, "the file exists, but its interpreter '%s' does not",
				 buf_str(&path));
		else if (reason == EACCES && is_directory(program))
			err_hint(err, "name a program in it, or -p PID for a process that runs; "
				      "'profc report DIR' shows the newest profile of a directory");
		else if (reason == EACCES && is_not_executable(program))
			err_hint(err,
				 "the file is not executable; run a script with its interpreter: "
				 "profc record sh FILE");
	}
	buf_release(&path);
	return is_nowhere || reason == ENOENT ? ERR_NOT_FOUND : ERR_SYS;
}
