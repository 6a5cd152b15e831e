/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CONTEXT_THREAD_VARIABLE_H
#define PROFC_CONTEXT_THREAD_VARIABLE_H

#include <stdbool.h>

struct context_place;
struct elf_thread_variable;
struct mapping;
struct space;

/*
 * Find how threads get to a thread-local variable of a module that is mapped so, by the rules of
 * the psABI in the executable, and by those of glibc's loader in a library. False: the loader does
 * not know the library, or not yet, or it is another one than glibc's.
 */
bool thread_variable_find(struct space *space, const struct mapping *mapping,
			  const struct elf_thread_variable *variable, struct context_place *place);

#endif
