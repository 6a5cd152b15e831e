/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_NAMING_CALLEES_H
#define PROFC_NAMING_CALLEES_H

#include <stdbool.h>
#include <stddef.h>

struct elf_image;
struct symbol_file;
struct symbol_function;
struct symbol_functions;

/* A file's functions, for finding their callees. Borrowed. */
struct callees {
	struct symbol_file *symbols;
	const struct elf_image *image;
	struct symbol_functions *functions;
};

/*
 * Does a function call malloc() or a similar function, directly or through a few functions of the
 * same file? Calls through pointers are unknown.
 */
bool callees_allocate(const struct callees *callees, const struct symbol_function *function);
/*
 * Does a function leave by a C++ exception or longjmp(3), itself or in such a function that it
 * calls? Allocators, which throw only if there is no memory, are not searched.
 */
bool callees_leave(const struct callees *callees, const struct symbol_function *function);

#endif
