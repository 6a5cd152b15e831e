/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Qualified names of functions that have no linkage name. */
#ifndef PROFC_SYMBOL_DWARF_QUALIFY_H
#define PROFC_SYMBOL_DWARF_QUALIFY_H

#include <stdint.h>

#include "base/index_set.h"

struct dwarf_function;
struct buf;

/*
 * gcc gives no linkage name to what is local to a file: static functions,
 * anonymous namespaces, lambdas. Their names are put together from the entries
 * that enclose them. The children of an entry are listed once, when the first
 * of them is asked for.
 */
struct qualifier {
	struct child_list *lists;
	size_t nr, cap;
	struct index_set index;
};

void qualifier_release(struct qualifier *qualifier);

/*
 * Append what stands before the name of a function that has one: the names of
 * the namespaces, types and functions around it, each with "::" behind it.
 */
void qualifier_append(struct qualifier *qualifier, const struct dwarf_function *function,
		      struct buf *out);

/*
 * Give a function that says nowhere where it is declared the place of the type
 * around it, if there is one: gcc says of a lambda only where its type is.
 */
void qualifier_place(struct qualifier *qualifier, struct dwarf_function *function);

#endif
