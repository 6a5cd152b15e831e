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
 * The same in steps, for repeated requests: the file stays open and what was read of
 * it is kept. Not to be used from two threads at once.
 */
struct symbol_file;

/*
 * Only the file of the request is used; the request is not kept. Of the options a copy is, so that
 * what they point to must stay.
 */
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
 * symbol tables, Go's or the unwind information, so that functions without a name are found, too.
 * False if none has it, or if the file is not the one requested.
 */
bool symbol_file_find_function(struct symbol_file *file, uint64_t address, uint64_t *start,
			       uint64_t *end);
/* If the file is not the one recorded, a message for the user that says so; else NULL. Borrowed. */
const char *symbol_file_mismatch(const struct symbol_file *file);
/* How many bytes an address of the file has: 4 or 8. */
unsigned int symbol_file_address_bytes(const struct symbol_file *file);
/* The linkage name of the function that the PLT stub at an address calls, borrowed; NULL: none. */
const char *symbol_file_callee_of_stub(struct symbol_file *file, uint64_t address);
void symbol_file_close(struct symbol_file *file);

#endif
