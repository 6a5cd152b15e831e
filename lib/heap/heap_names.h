/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HEAP_HEAP_NAMES_H
#define PROFC_HEAP_HEAP_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "heap/heap_shared.h"

/*
 * The function that has this name in a file with a malloc() of its own: names of C, of C++, and the
 * other names of jemalloc, tcmalloc and mimalloc. False: none.
 */
bool heap_function_of(const char *name, enum heap_function *function);
/* The arguments of a function that is known by name. */
struct heap_form heap_form_of(enum heap_function function);

/*
 * The relation of an allocator's function to another one in its file. operator new may throw, and
 * no exception may pass the blob: where its blocks are known to be those of malloc(), the blob
 * calls that instead, and operator new only if it fails.
 */
enum heap_kin {
	HEAP_KIN_NONE,
	HEAP_KIN_PLAIN,	   /* malloc(), or memalign() and aligned_alloc(), under any prefix */
	HEAP_KIN_OF_PLAIN, /* operator new, with the same blocks as malloc() */
	HEAP_KIN_ALONE,	   /* operator new of a file without malloc(): it is not hooked */
	HEAP_KIN_OF_TABLE, /* an interpreter's: all of them are hooked, or none */
};

bool heap_name_is_plain(const char *name);
/* Does the name show that malloc() and operator new of its file make the same blocks? */
bool heap_name_tells_kin(const char *name);

/* Write the name with this index to `name`, of `cap` bytes; false: there are no more. */
bool heap_name_at(size_t index, char *name, size_t cap, enum heap_function *function);

/* The functions of a C library that map memory, likewise. */
bool heap_map_name_at(size_t index, const char **name, enum heap_function *function);

#endif
