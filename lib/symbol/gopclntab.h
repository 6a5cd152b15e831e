/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_GOPCLNTAB_H
#define PROFC_SYMBOL_GOPCLNTAB_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf/dwarf_bytes.h"

/*
 * The table from which Go's runtime prints stacks: functions, files and lines of all code, present
 * even in stripped programs. The reader knows the layouts since Go 1.16, from Go's
 * src/runtime/symtab.go and src/cmd/link/internal/ld/pcln.go.
 */
struct gopclntab {
	struct dwarf_bytes bytes; /* `at` is NULL: there is no readable table */
	uint64_t text_start;	  /* function addresses are relative to it since Go 1.18; else 0 */
	uint8_t pc_quantum, pointer_bytes;
	uint64_t nr_functions;
	uint64_t names, units, files, pc_tables, functions; /* offsets of its parts */
	bool has_wide_entries; /* before Go 1.18 the function table holds pointers */
};

struct go_place {
	const char *function, *file; /* borrowed from the table; file may be NULL */
	uint32_t line;		     /* 0 when unknown */
	uint32_t function_line;	     /* of its start; 0 when unknown */
	uint64_t start, end;	     /* of the function's code */
};

/* `text_address` is the address of .text, for tables that the loader relocates. */
void gopclntab_init(struct gopclntab *table, struct dwarf_bytes bytes, uint64_t text_address);
bool gopclntab_find(const struct gopclntab *table, uint64_t address, struct go_place *place);
/* The start address of function `index`, below nr_functions; false if the table is damaged. */
bool gopclntab_start(const struct gopclntab *table, uint64_t index, uint64_t *address);

#endif
