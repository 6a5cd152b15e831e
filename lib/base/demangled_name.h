/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_DEMANGLED_NAME_H
#define PROFC_BASE_DEMANGLED_NAME_H

#include <stdbool.h>

/*
 * A demangled name without template arguments, parameter lists, return type and Rust hash, for
 * tables. `(anonymous namespace)`, `operator<`, `operator()`, lambdas, closures, `<T as Trait>` and
 * `[clone .cold]` stay, and so does every text that is no such name: C, Go and JIT names, brackets
 * that do not match. Caller frees.
 */
char *demangled_name_shorten(const char *name);

/*
 * Where in a demangled name the function's own begins: demanglers put the type of the result before
 * those of templates, as in `int twice<int>(int)`. The start of the text if there is none.
 * Borrowed.
 */
const char *demangled_name_without_result(const char *name);

/* Is one of the forms of a name meant: in full, without its result, or short? */
bool demangled_name_is_meant(const char *name,
			     bool (*is_meant)(const void *context, const char *form),
			     const void *context);

#endif
