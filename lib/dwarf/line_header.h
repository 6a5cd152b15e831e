/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DWARF_LINE_HEADER_H
#define PROFC_DWARF_LINE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line_name {
	const char *text; /* borrowed from the sections; may be NULL */
	uint64_t directory;
};

struct line_names {
	struct line_name *rows;
	size_t nr, cap;
};

/* The file and directory tables before a line program, and where that starts. */
struct line_header {
	bool usable;
	uint16_t version;
	uint8_t address_bytes;
	uint8_t min_instruction_bytes;
	int8_t line_base;
	uint8_t line_range, opcode_base;
	uint8_t nr_operands[256]; /* of the standard opcodes, by opcode */
	/* Each special opcode adds these: they are most of a program, and division is slow. */
	uint16_t special_advance[256];
	int16_t special_line[256];
	uint64_t program_offset, nr_program_bytes; /* in .debug_line */
	struct line_names directories; /* 0 is the unit's own directory, implied before version 5 */
	struct line_names files;       /* before version 5 counted from 1: 0 is none */
};

void line_header_free(struct line_header *header);

#endif
