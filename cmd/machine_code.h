/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions of functions of a recording: what it has kept, or by objdump. */
#ifndef PROFC_CMD_MACHINE_CODE_H
#define PROFC_CMD_MACHINE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "mapping/module.h"

struct code;
struct codes;
struct disassembly;
struct err;

/* A part of a function. gcc moves cold code into a part of its own. */
struct code_part {
	struct module_id module;
	uint64_t start, end; /* addresses as in the ELF file */
	struct buf text;     /* for disassembly_parse() */
};

/* Zero-initialised is empty. */
struct code_parts {
	struct code_part *parts; /* owned, with their texts */
	size_t nr, cap;
};

void code_parts_release(struct code_parts *parts);

/* Has the recording kept all instructions of a function that have costs? */
bool code_is_kept(const struct codes *codes, const struct code *code);

/*
 * Append all parts of a function that have costs, with the source lines of their instructions. An
 * error, if the recording has kept none of them, and the file that was recorded is not here.
 */
int code_parts_read(const struct codes *codes, const struct code *code, struct code_parts *parts,
		    struct err *err);
/* The same, taken apart. An error also if there is no instruction. */
int code_disassemble(const struct codes *codes, const struct code *code,
		     struct disassembly *disassembly, struct err *err);

#endif
