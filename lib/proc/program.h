/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program of a process: its ELF class, its identity and its command line. */
#ifndef PROFC_PROC_PROGRAM_H
#define PROFC_PROC_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The kind of a 32-bit program file, from the first bytes of its ELF header: "i386", "x32", "arm"
 * or just "32-bit". NULL for every other file. profc reads the registers and stacks of 64-bit
 * programs only.
 */
const char *proc_program_32_bit(const void *bytes, size_t nr_bytes);
const char *proc_program_file_32_bit(int fd);
/* As above for a process; NULL also if its program cannot be read. */
const char *proc_program_process_32_bit(pid_t pid);

/*
 * A number for the program that a thread runs: it changes with each execve(2) and is inherited by
 * fork(2). Only a program without address space randomization that executes itself again, with the
 * same arguments and environment, keeps its number. 0: unknown, as for a process without memory.
 */
uint64_t proc_program_id(pid_t tgid, pid_t tid);
/*
 * The thread's name, as from proc_read_comm(), if the thread still runs that program. False also if
 * it runs another one by now, which this name may be of. A program of 0 is not checked.
 */
bool proc_program_read_comm(uint64_t program, pid_t tgid, pid_t tid, char *out, size_t cap);

/* Where a process began to run its program: AT_ENTRY, which getauxval(3) has; 0: unknown. */
uint64_t proc_program_entry(pid_t pid);

/* The path of its executable as it sees it, and its arguments, joined by spaces; owned; or NULL. */
char *proc_exe(pid_t pid);
char *proc_command_line(pid_t pid);

#endif
