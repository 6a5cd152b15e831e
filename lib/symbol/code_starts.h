/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds where functions begin that neither symbols nor unwind information know. */
#ifndef PROFC_SYMBOL_CODE_STARTS_H
#define PROFC_SYMBOL_CODE_STARTS_H

#include <libelf.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_section;
struct code_sections;

/* An address in code without a name. All are the file's own. */
struct nameless_code {
	uint64_t address;
	/* No known function is in [low, high), which holds the address; equal for all in there. */
	uint64_t low, high;
	uint64_t start, end; /* of its function; start == end: not found */
};

/*
 * Find the functions of rows, which are ascending: where direct calls of this file lead, or where
 * control cannot come to from the function before. `calls`, ascending, are addresses within
 * instructions, those of calls among them: where one of these leads a function begins. x86-64
 * only; elsewhere nothing is found. The sections of code are read as a whole, if there are rows.
 */
void code_starts_find(Elf *elf, const uint64_t *calls, size_t nr_calls, struct nameless_code *rows,
		      size_t nr, const atomic_bool *ended);

/* May a function begin there, by the code before and behind it? */
bool code_may_begin_x86_64(const struct code_section *section, uint64_t address);
/*
 * Find the function of a row, if one begins at `start`, at or before its address and in its
 * section, and another one behind it at `limit`, or none.
 */
void code_divide_x86_64(struct code_sections *sections, uint64_t start, uint64_t limit,
			struct nameless_code *row);

#endif
