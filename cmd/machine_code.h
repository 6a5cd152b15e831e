/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions of functions of a recording, by objdump. */
#ifndef PROFC_CMD_MACHINE_CODE_H
#define PROFC_CMD_MACHINE_CODE_H

#include <stdbool.h>

struct buf;
struct code;
struct codes;
struct err;
struct module;
struct symbol_file;

/* The file whose symbols give the bounds of functions of a module; NULL with why not in `err`. */
struct symbol_file *code_file_open(const struct module *module, struct err *err);
/* Append what objdump prints of all parts of a function that have costs. */
void code_file_disassemble(struct symbol_file *file, const struct codes *codes,
			   const struct code *code, bool line_numbers, struct buf *output);

#endif
