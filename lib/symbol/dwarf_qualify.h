/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Qualified names of functions that have no linkage name. */
#ifndef PROFC_SYMBOL_DWARF_QUALIFY_H
#define PROFC_SYMBOL_DWARF_QUALIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/index_set.h"

struct dwarf_function;
struct buf;

/*
 * gcc gives no linkage names to entities local to a file: static functions, members of anonymous
 * namespaces, lambdas. The qualifier composes their names from the enclosing entries. It lists the
 * children of an entry once, with the first question about one of them.
 */
struct qualifier {
	struct child_list *lists;
	size_t nr, cap;
	struct index_set index;
};

void qualifier_release(struct qualifier *qualifier);

/*
 * Append the qualification of a function with a name: the names of the namespaces, types and
 * functions around it, each followed by "::".
 */
void qualifier_append(struct qualifier *qualifier, const struct dwarf_function *function,
		      struct buf *out);

/* Is it the name of a function by which an object is called, as that of a lambda? May be NULL. */
bool qualifier_is_call(const char *name);

/*
 * Give a function without a declaration line that of the type around it, if there is a type: gcc
 * has only the line of a lambda's type.
 */
void qualifier_place(struct qualifier *qualifier, struct dwarf_function *function);

#endif
