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
 * Where the code of a function is, by one of its names, exactly as reports show it: of several that
 * bear it all are meant, each with the parts that a compiler moved elsewhere. Files are searched
 * when they are asked for, once. Any thread may ask.
 */
struct named_code;

/* The name and what the options point to are borrowed. No server is asked: samples wait meanwhile.
 */
struct named_code *named_code_new(const char *name, struct symbol_options options);
void named_code_free(struct named_code *code); /* may be NULL */

/* What of it a module has: code_filter_options.find, with a struct named_code for the context. */
const struct code_range *named_code_in(void *context, const struct module *module, size_t *nr);
/*
 * Is it in any of these? ERR_NOT_FOUND: in none; a hint has a name like it. Also where it has no
 * code of its own, as it is inlined everywhere.
 */
int named_code_find(struct named_code *code, const struct module_table *modules, struct err *err);
/* Have these processes mapped it? As named_code_find(), and space_refresh(). */
int named_code_attach(struct named_code *code, const pid_t *pids, size_t nr, struct err *err);
/* How many copies of it stand in other functions, which are not meant, as far as is known. */
unsigned int named_code_nr_inlined(struct named_code *code);

#endif
