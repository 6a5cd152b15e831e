/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_PROGRAM_H
#define PROFC_PROC_PROGRAM_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Which kind of 32-bit program a file is, by the first bytes of its ELF header:
 * "i386", "x32", "arm" or just "32-bit". NULL for every other file. profc reads
 * the registers and stacks of 64-bit programs only.
 */
const char *proc_program_32_bit(const void *bytes, size_t nr_bytes);
const char *proc_program_file_32_bit(int fd);
/* The same of a process; NULL also if that cannot be seen. */
const char *proc_program_process_32_bit(pid_t pid);

#endif
