/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_HEAP_NAMES_H
#define PROFC_PROBE_HEAP_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/heap_shared.h"

/*
 * What a function of this name, as in a symbol table, does in a file that has a malloc() of its
 * own: those of C, of C++, and of jemalloc, tcmalloc and mimalloc under their other names.
 */
bool heap_function_of(const char *name, enum heap_function *function);
/* The arguments of one that is known by its name. */
struct heap_form heap_form_of(enum heap_function function);

/* All of these names, by index from 0 on, for `name` of `cap` bytes; false: there are no more. */
bool heap_name_at(size_t index, char *name, size_t cap, enum heap_function *function);

/* The functions of a C library that map memory, likewise. */
bool heap_map_name_at(size_t index, const char **name, enum heap_function *function);

#endif
