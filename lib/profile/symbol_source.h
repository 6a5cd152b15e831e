/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_SYMBOL_SOURCE_H
#define PROFC_PROFILE_SYMBOL_SOURCE_H

/* Where a module's names came from. Numbers are part of the file format: append only. */
enum symbol_source {
	SYMBOL_SOURCE_NONE = 0,	    /* not looked for (--no-symbols) or nothing to find */
	SYMBOL_SOURCE_DWARF = 1,    /* debug information in the file itself */
	SYMBOL_SOURCE_SEPARATE = 2, /* a separate debug file: build-id, debuglink, debuginfod */
	SYMBOL_SOURCE_SYMTAB = 3,
	SYMBOL_SOURCE_DYNSYM = 4,
	SYMBOL_SOURCE_MINIDEBUG = 5, /* .gnu_debugdata */
	SYMBOL_SOURCE_GOPCLNTAB = 6,
	SYMBOL_SOURCE_PERF_MAP = 7,
	SYMBOL_SOURCE_JITDUMP = 8,
	SYMBOL_SOURCE_INTERPRETER = 9, /* read from its memory, while it ran */
	SYMBOL_SOURCE_COMPILER = 10,   /* likewise, of one that makes code for each function */
	SYMBOL_SOURCE_COUNT,
};

/* "DWARF", "separate debug file", … */
const char *symbol_source_name(enum symbol_source source);

#endif
