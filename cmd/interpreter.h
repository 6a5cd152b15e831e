/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explains why a program cannot be executed. */
#ifndef PROFC_CMD_INTERPRETER_H
#define PROFC_CMD_INTERPRETER_H

struct err;

/*
 * Say why `program`, a path or a name in $PATH, could not be executed, for which the kernel gave
 * this errno. That may mislead: it says "No such file or directory" of a program that is there,
 * too, when the interpreter is not that a script names behind #!, or a binary as its dynamic
 * loader. And "Permission denied" of one that is nowhere, if a directory of $PATH may not be
 * searched. Returns ERR_NOT_FOUND for what a shell would not have found either, else ERR_SYS.
 */
int program_explain_failure(const char *program, int reason, struct err *err);

/*
 * The errno with which executing `program`, a path or a name in $PATH, will fail, as far as that
 * can be foreseen; else 0.
 */
int program_foresee_failure(const char *program);

/*
 * 0, or ERR_UNSUPPORTED if `program`, a path or a name in $PATH, is a 32-bit one. Programs that
 * do not exist, or are not ELF files, are not checked.
 */
int program_refuse_32_bit(const char *program, struct err *err);

#endif
