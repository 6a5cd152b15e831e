/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells the closures of Rust apart, of which legacy linkage names say only {{closure}}. */
#ifndef PROFC_SYMBOL_CLOSURE_NAMES_H
#define PROFC_SYMBOL_CLOSURE_NAMES_H

#include <stdbool.h>

#include "symbol/name_pool.h"

/* Does a demangled name have a closure without a number? */
bool closure_is_in(const char *name);
/*
 * The name with the numbers of its closures in the scopes of debug information, outermost first:
 * "a::f::{closure#1}" of "a::f::{{closure}}" and "a::{impl#2}::f::{closure#1}". Kept by the pool.
 */
const char *closure_numbered(struct name_pool *pool, const char *name, const char *qualified);
/*
 * The name with a part of the hash of the linkage name in place of the number, for symbols without
 * debug information: "a::f::{closure#h3f7a}". Kept by the pool.
 */
const char *closure_hashed(struct name_pool *pool, const char *name, const char *linkage_name);

#endif
