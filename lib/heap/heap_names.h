/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HEAP_HEAP_NAMES_H
#define PROFC_HEAP_HEAP_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "heap/heap_shared.h"

/*
 * What a function of this name, as in a symbol table, does in a file that has a malloc() of its
 * own: those of C, of C++, and of jemalloc, tcmalloc and mimalloc under their other names.
 */
bool heap_function_of(const char *name, enum heap_function *function);
/* The arguments of one that is known by its name. */
struct heap_form heap_form_of(enum heap_function function);

/*
 * What one function of an allocator is to another one in its file. operator new may throw, and no
 * exception comes by our code: where its blocks are known to be those of malloc(), that is called
 * in its place, and it itself only if there is no memory.
 */
enum heap_kin {
	HEAP_KIN_NONE,
	HEAP_KIN_PLAIN,	   /* malloc(), or memalign() and aligned_alloc(), under whatever prefix */
	HEAP_KIN_OF_PLAIN, /* operator new of an allocator that says so */
	HEAP_KIN_ALONE,	   /* operator new of a file that has no malloc(): it is not hooked */
};

bool heap_name_is_plain(const char *name);
/* Has only an allocator this one, whose blocks of malloc() and of operator new are alike? */
bool heap_name_tells_kin(const char *name);

/* All of these names, by index from 0 on, for `name` of `cap` bytes; false: there are no more. */
bool heap_name_at(size_t index, char *name, size_t cap, enum heap_function *function);

/* The functions of a C library that map memory, likewise. */
bool heap_map_name_at(size_t index, const char **name, enum heap_function *function);

#endif
