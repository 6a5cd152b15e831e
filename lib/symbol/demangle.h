/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_DEMANGLE_H
#define PROFC_SYMBOL_DEMANGLE_H

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

#endif
