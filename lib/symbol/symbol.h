/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_SYMBOL_H
#define PROFC_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/types.h"

struct err;

/*
 * Addresses of one ELF file (or one process' JIT memory) to functions, files,
 * lines and inline chains, all distinct addresses of a module in one call: one
 * pass over each compilation unit that has any of them, never a search per
 * address. Knows nothing of profiles; resolve.h connects the two.
 */

/* May be called from several threads at once on different requests. */
int symbol_resolve_file(const struct symbol_options *options, const struct symbol_request *request,
			struct symbol_result **result, struct err *err);

/*
 * The same in steps, for who asks again and again: the file stays open and what
 * was read of it is kept. Not to be used from two threads at once.
 */
struct symbol_file;

/* Of the request only the file is of interest here; it is not kept, but the options are. */
int symbol_file_open(const struct symbol_options *options, const struct symbol_request *request,
		     struct symbol_file **file, struct err *err);
/* Resolve ascending, distinct addresses. Caller owns the result. */
struct symbol_result *symbol_file_resolve(struct symbol_file *file, const uint64_t *addresses,
					  size_t nr);
/*
 * The address, as symbol_file_resolve() takes it, where a function or a section
 * of this name begins. False when the file has none.
 */
bool symbol_file_find_symbol(struct symbol_file *file, const char *name, uint64_t *address);
bool symbol_file_find_section(const struct symbol_file *file, const char *name, uint64_t *address);
/*
 * The code [start, end) of the function, or of the part of one, that holds an address: by the
 * symbol tables, Go's or the unwind information, so that nameless ones are found too. False where
 * none knows it, or where the file is not the one that was asked for.
 */
bool symbol_file_find_function(struct symbol_file *file, uint64_t address, uint64_t *start,
			       uint64_t *end);
/* Why nothing is known of the file, for a user to read: it is another one. Else NULL. Borrowed. */
const char *symbol_file_mismatch(const struct symbol_file *file);
/* How many bytes an address of the file has: 4 or 8. */
unsigned int symbol_file_address_bytes(const struct symbol_file *file);
void symbol_file_close(struct symbol_file *file);

#endif
