/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explains why a program cannot be executed. */
#ifndef PROFC_PROC_EXEC_FAILURE_H
#define PROFC_PROC_EXEC_FAILURE_H

struct err;

/*
 * A program is a path, or a name that is searched for in the directories of a PATH, as
 * search_path_find() does.
 */

/*
 * Set *err to the reason why `program` could not be executed; `reason` is the kernel's errno, which
 * may mislead. "No such file or directory" also means that the program is there, but its
 * interpreter, after #! in a script, or its dynamic loader is not. "Permission denied" also means
 * that no such program exists, but a directory cannot be searched. Returns ERR_NOT_FOUND if a shell
 * would not find the program either, else ERR_SYS.
 */
int exec_failure_explain(const char *directories, const char *program, int reason, struct err *err);

/* The errno with which executing it will fail, if that is foreseeable; else 0. */
int exec_failure_foresee(const char *directories, const char *program);

/*
 * 0, or ERR_UNSUPPORTED if it is a 32-bit one. Programs that do not exist, or are not ELF files,
 * are not checked.
 */
int exec_refuse_32_bit(const char *directories, const char *program, struct err *err);

#endif
