/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_NAMING_POOL_FUNCTIONS_H
#define PROFC_NAMING_POOL_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "heap/heap_shared.h"

struct err;

/* An allocating or freeing function, described by a user. */
struct pool_function {
	char *name;	       /* owned: a name for symbol_functions_called() */
	struct heap_form form; /* its arguments and result */
	bool is_found;
	unsigned int nr_inlined; /* if it is not found: places where it is inlined; 0: not known */
};

/* Zero-initialised is empty. */
struct pool_functions {
	struct pool_function *rows; /* owned */
	size_t nr, cap;
};

/*
 * Read some descriptions, separated by blanks or commas:
 *
 *	alloc:NAME(size=N[:int][,count=M[:int]][,out=K])  alloc:NAME(bytes=SIZE[,…])
 *	realloc:NAME(pointer=P,size=N[:int][,count=M[:int]])  free:NAME(P)
 *
 * Fails with ERR_INVALID and the reason; the descriptions before the wrong one are added.
 */
int pool_functions_add(struct pool_functions *functions, const char *text, struct err *err);
void pool_functions_release(struct pool_functions *functions);

#endif
