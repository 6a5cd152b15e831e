/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Annotated instructions as text. */
#ifndef PROFC_VIEW_ASM_TEXT_H
#define PROFC_VIEW_ASM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/style.h"

struct code;
struct codes;
struct sink;

/* One line of a disassembly: an instruction, or the source line of the instructions below. */
struct asm_line {
	bool is_source;
	uint64_t address; /* of an instruction */
	const char *text; /* raw; borrowed */
};

/* A disassembled function. */
struct asm_listing {
	const struct codes *codes;    /* borrowed */
	const struct code *code;      /* borrowed, of codes */
	const struct asm_line *lines; /* instructions by ascending address */
	size_t nr_lines;	      /* 0: no disassembly, only the sampled addresses are shown */
	size_t context; /* show only this many of the lines without cost around the others */
};

void asm_print_text(const struct asm_listing *listing, const struct view *view, struct sink *sink);

#endif
