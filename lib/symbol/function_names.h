/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a requested name with the forms of a function's name. */
#ifndef PROFC_SYMBOL_FUNCTION_NAMES_H
#define PROFC_SYMBOL_FUNCTION_NAMES_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/name_pool.h"

/* A regular expression or an exact name; both NULL: all names. */
struct name_wanted {
	const regex_t *regex;
	const char *exact;
	const char *word; /* of letters, digits and underscores, in all that matches; or NULL */
	bool is_own_word; /* no demangler adds it: !symbol_demangle_has_word() */
};

/* Does a demangled name match, in full, without its result, or short? */
bool name_matches(const struct name_wanted *wanted, const char *name);
/*
 * Does a linkage name match, as it is, or demangled in full or short? Compared without its version,
 * and also without the suffixes of clones and parts, as in debug information: f for f.constprop.0
 * and f.cold.
 */
bool linkage_name_matches(const struct name_wanted *wanted, const char *linkage_name);

/* The name without its version: memcpy of memcpy@@GLIBC_2.14. The same text, or the pool's. */
const char *unversioned_name(struct name_pool *pool, const char *linkage_name);

/*
 * The bytes of a linkage name without its version; *nr_whole_bytes become those without the
 * suffixes of clones and parts, too.
 */
size_t bare_name_bytes(const char *linkage_name, size_t *nr_whole_bytes);

/*
 * A number that equal names have in common, and few others; made of some of the bytes, as names are
 * long.
 */
uint32_t name_print(const char *name, size_t nr_bytes);

/* The name without parameters and template arguments, owned by the pool. */
const char *short_name(struct name_pool *pool, const char *name);

/*
 * Does a linkage name belong to code that a compiler moved out of a function: f.cold, f.part.0? A
 * clone that is called in place of the function (f.constprop.0) is no such part.
 */
bool function_name_is_of_part(const char *linkage_name);
/*
 * The name of the function that a symbol's code is of: f of f.cold, f.part.0 and f.constprop.1, but
 * not of f.lto_priv.0, which tells several of one name apart. The same text, or the pool's.
 */
const char *whole_function_name(struct name_pool *pool, const char *linkage_name);

#endif
