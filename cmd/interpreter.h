/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_INTERPRETER_H
#define PROFC_CMD_INTERPRETER_H

#include <stdbool.h>

struct buf;
struct err;

/*
 * The kernel says "No such file or directory" of a program that is there, too: when the
 * interpreter is not that a script names behind #!, or a binary as its dynamic loader.
 * True if `program`, a path or a name in $PATH, is such a one; the interpreter's path
 * is appended to `interpreter`.
 */
bool interpreter_is_missing(const char *program, struct buf *interpreter);

/*
 * 0, or ERR_UNSUPPORTED if `program`, a path or a name in $PATH, is a 32-bit one. One that
 * is not there, or no ELF file, is no matter of this.
 */
int program_refuse_32_bit(const char *program, struct err *err);

#endif
