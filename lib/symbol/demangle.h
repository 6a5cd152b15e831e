/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_DEMANGLE_H
#define PROFC_SYMBOL_DEMANGLE_H

#include <stdbool.h>

/*
 * Demangle a C++, Rust, D or Ada name; any other name is copied. The caller frees the result.
 * Short forms for tables: base/demangled_name.h.
 */
char *symbol_demangle(const char *linkage_name);
/*
 * Demangle a name of a unit in Ada likewise. GNAT's names ("pkg__proc" for pkg.proc) are valid
 * in C, too, so that only the language of their unit distinguishes them.
 */
char *symbol_demangle_ada(const char *name);

/*
 * Is a word, of letters, digits and underscores, one that demanglers of C++ may print of their own
 * (operator, namespace, 5)? Any other is also in the mangled name, unless that is of another
 * scheme.
 */
bool symbol_demangle_has_word(const char *word);
/* Is a linkage name of another scheme, whose demangled names may have words that it has not? */
bool symbol_demangle_makes_words(const char *linkage_name);

#endif
