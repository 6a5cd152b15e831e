/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_NAME_POOL_H
#define PROFC_SYMBOL_NAME_POOL_H

#include <stddef.h>

#include "base/strtab.h"

/*
 * The texts of one result. The pool keeps each text once, and demangles each linkage name once,
 * however many functions, units and addresses have it.
 */
struct name_pool {
	struct strtab *texts;
	const char **demangled; /* by str_id; NULL: not yet */
	size_t nr_demangled, cap_demangled;
};

void name_pool_init(struct name_pool *pool);
void name_pool_release(struct name_pool *pool);

/* A copy that lives as long as the texts; NULL stays NULL. */
const char *name_pool_keep(struct name_pool *pool, const char *text);
const char *name_pool_demangle(struct name_pool *pool, const char *linkage_name);

#endif
