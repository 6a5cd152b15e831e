/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_DEMANGLED_NAME_H
#define PROFC_BASE_DEMANGLED_NAME_H

/*
 * A demangled name without template arguments, parameter lists, return type and Rust hash, for
 * tables. `(anonymous namespace)`, `operator<`, `operator()`, lambdas, closures, `<T as Trait>` and
 * `[clone .cold]` stay, and so does every text that is no such name: C, Go and JIT names, brackets
 * that do not match. Caller frees.
 */
char *demangled_name_shorten(const char *name);

#endif
