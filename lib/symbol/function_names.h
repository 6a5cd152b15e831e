/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a name that is asked for with the forms a function's name has. */
#ifndef PROFC_SYMBOL_FUNCTION_NAMES_H
#define PROFC_SYMBOL_FUNCTION_NAMES_H

#include <regex.h>
#include <stdbool.h>

#include "symbol/name_pool.h"

/* A regular expression, or the very name; both NULL: all names. */
struct name_wanted {
	const regex_t *regex;
	const char *exact;
};

/* Does a demangled name match, in full or short? */
bool name_matches(const struct name_wanted *wanted, struct name_pool *pool, const char *name);
/*
 * Does a linkage name match, as it is or demangled in full or short? Without its version, and also
 * without what compilers put behind the names of clones and parts: f of f.constprop.0 and f.cold,
 * as debug information calls them.
 */
bool linkage_name_matches(const struct name_wanted *wanted, struct name_pool *pool,
			  const char *linkage_name);

/* Without the version behind it: memcpy of memcpy@@GLIBC_2.14. The same text, or the pool's. */
const char *unversioned_name(struct name_pool *pool, const char *linkage_name);

/* Without parameters and template arguments. Kept by the pool. */
const char *short_name(struct name_pool *pool, const char *name);

/*
 * Is a linkage name that of code that a compiler moved out of a function: f.cold, f.part.0? Clones
 * that are called in place of the function (f.constprop.0) are not.
 */
bool function_name_is_of_part(const char *linkage_name);

#endif
