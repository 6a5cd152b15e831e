/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_NAMED_CODE_H
#define PROFC_SYMBOL_NAMED_CODE_H

#include <stddef.h>
#include <sys/types.h>

#include "symbol/types.h"

struct err;
struct code_range;
struct module;
struct module_table;

/*
 * The code of a function, by one of its names exactly as reports show it: of all functions with the
 * name, each with the parts that a compiler moved elsewhere. Each file is searched once, with the
 * first question about it. Any thread may ask.
 */
struct named_code;

/* Borrows the name and all that the options point to. Asks no server: samples wait meanwhile. */
struct named_code *named_code_new(const char *name, struct symbol_options options);
void named_code_free(struct named_code *code); /* may be NULL */

/* The function's code in a module: code_filter_options.find; the context is a struct named_code. */
const struct code_range *named_code_in(void *context, const struct module *module, size_t *nr);
/*
 * Search the function in all these modules. ERR_NOT_FOUND if none has it, with a hint at a similar
 * name, or if it has no code of its own, because it is inlined everywhere.
 */
int named_code_find(struct named_code *code, const struct module_table *modules, struct err *err);
/*
 * Search it in the mappings of these processes; those that have ended are left out, if others have
 * not. Fails as named_code_find() and space_refresh().
 */
int named_code_attach(struct named_code *code, const pid_t *pids, size_t nr, struct err *err);
/* The number of copies inlined in other functions, as far as known; the code has none of them. */
unsigned int named_code_nr_inlined(struct named_code *code);

#endif
