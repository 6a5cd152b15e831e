/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the attributes of a function entry, through its origin and specification. */
#ifndef PROFC_DWARF_DWARF_FUNCTION_H
#define PROFC_DWARF_DWARF_FUNCTION_H

#include <stdint.h>

#include "dwarf/dwarf_file.h"

/* A function's entry, with its abstract origin and specification. */
struct dwarf_function {
	/* Borrowed from the sections; NULL when unknown, or not needed: there is a linkage name. */
	const char *name;
	const char *linkage_name; /* NULL when there is none */
	const char *own_name;	  /* the name, also beside a linkage name; NULL when unknown */
	/* The entry that gives `name`: what encloses it belongs to the full name. */
	struct dwarf_unit *name_unit;
	uint64_t name_offset;
	struct dwarf_unit *decl_unit; /* its line table numbers decl_file */
	uint64_t decl_file;
	uint32_t decl_line, decl_column; /* 0 when unknown */
	bool is_external;		 /* what other units call so is the same function */
};

void dwarf_read_function(struct dwarf_file *file, uint64_t offset, struct dwarf_function *function);

#endif
