/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts source lines between the instructions of a disassembly. */
#ifndef PROFC_VIEW_ASM_LINES_H
#define PROFC_VIEW_ASM_LINES_H

#include <stddef.h>
#include <stdint.h>

struct asm_line;
struct disassembly;
struct strtab;

/* Lines for a struct asm_listing. Zero-initialised is empty. */
struct asm_lines {
	struct asm_line *lines; /* owned; they borrow from `texts` and from the disassembly */
	size_t nr, cap;
	struct strtab *texts; /* owned; NULL: none yet */
};

void asm_lines_release(struct asm_lines *lines);
/*
 * Append the lines of a parsed disassembly, which is borrowed. `source_line` returns the text of a
 * line of a source file, borrowed until its next call, or NULL.
 */
void asm_lines_append(struct asm_lines *lines, const struct disassembly *disassembly,
		      const char *(*source_line)(void *context, const char *path, uint32_t line),
		      void *context);

#endif
