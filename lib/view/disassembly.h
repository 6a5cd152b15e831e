/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the output of objdump. */
#ifndef PROFC_VIEW_DISASSEMBLY_H
#define PROFC_VIEW_DISASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The kinds of lines in objdump's output. */
enum disassembly_kind {
	DISASSEMBLY_FUNCTION, /* a symbol begins */
	DISASSEMBLY_POSITION, /* the source line of the instructions that follow */
	DISASSEMBLY_INSTRUCTION,
};

struct disassembly_line {
	enum disassembly_kind kind;
	uint64_t address; /* FUNCTION, INSTRUCTION */
	const char *text; /* INSTRUCTION: mnemonic and operands; POSITION: the path */
	uint32_t line;	  /* POSITION */
};

/* Machine code as text, by objdump. Zero-initialised is empty. */
struct disassembly {
	struct buf output; /* that of objdump; the lines point into it */
	struct disassembly_line *lines;
	size_t nr, cap;
};

void disassembly_release(struct disassembly *disassembly);
/* Split disassembly->output into lines, in place. */
void disassembly_parse(struct disassembly *disassembly);
/*
 * objdump names targets of jumps after some symbol before them, also in code without symbols. Write
 * targets in that code [start, end) as "+0x1c", from its start, and other ones as addresses.
 */
void disassembly_count_targets(struct disassembly *disassembly, uint64_t start, uint64_t end);
/* Has it any instruction? Call this after disassembly_parse(). */
bool disassembly_has_instructions(const struct disassembly *disassembly);

#endif
