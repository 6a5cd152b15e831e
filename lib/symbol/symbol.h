/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_SYMBOL_H
#define PROFC_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/types.h"

struct err;

/*
 * Resolves addresses of one ELF file to functions, files, lines and inline chains: all distinct
 * addresses of a module in one call, in one pass over each compilation unit with any of them,
 * without a search per address. Independent of profiles; resolve.h connects the two.
 */

/* May be called from several threads at once on different requests. */
int symbol_resolve_file(const struct symbol_options *options, const struct symbol_request *request,
			struct symbol_result **result, struct err *err);

/*
 * The same in steps, for repeated requests: the file stays open and keeps its tables. Two threads
 * must not use it at once.
 */
struct symbol_file;

/*
 * Open the file of the request; its addresses are not used, and the request is not kept. The
 * options are copied, but all that they point to is borrowed.
 */
int symbol_file_open(const struct symbol_options *options, const struct symbol_request *request,
		     struct symbol_file **file, struct err *err);
/* Resolve ascending, distinct addresses. Caller owns the result. */
struct symbol_result *symbol_file_resolve(struct symbol_file *file, const uint64_t *addresses,
					  size_t nr);
/* Resolve the addresses of a request for this file. Caller owns the result. */
struct symbol_result *symbol_file_answer(struct symbol_file *file,
					 const struct symbol_request *request);
/*
 * The start address, as symbol_file_resolve() takes it, of the function or section with a name.
 * False if the file has neither.
 */
bool symbol_file_find_symbol(struct symbol_file *file, const char *name, uint64_t *address);
bool symbol_file_find_section(const struct symbol_file *file, const char *name, uint64_t *address);
/*
 * The code [start, end) of the function, or part of a function, that holds an address. Sources are
 * symbol tables, Go's table and unwind information, so that functions without a name are found too.
 * False if none of them has the address, or if the file is not the requested one.
 */
bool symbol_file_find_function(struct symbol_file *file, uint64_t address, uint64_t *start,
			       uint64_t *end);
/* If the file is not the recorded one, a message for the user; else NULL. Borrowed. */
const char *symbol_file_mismatch(const struct symbol_file *file);
/* The size of an address of the file: 4 or 8 bytes. */
unsigned int symbol_file_address_bytes(const struct symbol_file *file);
/* The linkage name of the function that the PLT stub at an address calls, borrowed; NULL: none. */
const char *symbol_file_callee_of_stub(struct symbol_file *file, uint64_t address);
/* Free tables that can be made again as far as they are needed: the file will stay open. */
void symbol_file_trim(struct symbol_file *file);
void symbol_file_close(struct symbol_file *file);

#endif
