/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An open file, for the other files of this room that answer questions about it. */
#ifndef PROFC_SYMBOL_SYMBOL_PRIV_H
#define PROFC_SYMBOL_SYMBOL_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "cfi/cfi.h"
#include "symbol/data_symbols.h"
#include "symbol/elf_symbols.h"
#include "symbol/gopclntab.h"
#include "symbol/object.h"
#include "symbol/plt.h"
#include "symbol/symbol.h"

struct symbol_file {
	struct symbol_options options; /* a copy, which the object refers to */
	struct symbol_object object;
	bool verbatim;
	size_t nr_threads;
	char *mismatch;	    /* the reason why nothing is resolved, or NULL */
	struct stat opened; /* of the request's descriptor, before it was read; st_ino 0: none */
	/* The symbol tables, read when the first address needs them. */
	bool has_tables;
	struct elf_symbols symbols;
	struct plt plt;
	struct gopclntab go;
	struct data_symbols data; /* likewise */
};

/* Read the three tables, unless that has been done. */
void symbol_file_read_tables(struct symbol_file *file);

/* symbol_file_resolve() for the names alone: nothing is told of the module, nor of shared code. */
struct symbol_result *symbol_file_name(struct symbol_file *file, const uint64_t *addresses,
				       size_t nr);

/* Borrowed from the file. Addresses are those in the file, without the object's bias. */
struct cfi_search symbol_file_cfi(const struct symbol_file *file);

#endif
