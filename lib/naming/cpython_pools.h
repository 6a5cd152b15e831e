/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_NAMING_CPYTHON_POOLS_H
#define PROFC_NAMING_CPYTHON_POOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image;

/*
 * The allocator of CPython's objects. Its functions are called through tables of pointers, one for
 * each domain of memory, which PyMem_SetAllocator() changes:
 *
 *	void *ctx; malloc(ctx, size), calloc(ctx, count, size), realloc(ctx, p, size), free(ctx, p)
 *
 * Domains PYMEM_DOMAIN_OBJ and _MEM have the same functions, which need not have symbols; that of
 * _RAW is malloc(3). Where an interpreter was built with profiles, the compiler has put copies of
 * the functions in place of calls: each copy is for the pointer that leads to the function, and is
 * passed by if another pointer leads there: to an instruction without effect before it, or with
 * bits that branches leave out.
 */
enum cpython_pool {
	CPYTHON_MALLOC,
	CPYTHON_CALLOC,
	CPYTHON_REALLOC,
	CPYTHON_FREE,
	NR_CPYTHON_POOLS,
};

#define CPYTHON_TABLES_MAX 2

/* ELF virtual addresses. */
struct cpython_pools {
	uint64_t functions[NR_CPYTHON_POOLS];
	uint64_t others[NR_CPYTHON_POOLS];   /* leads to the function as well; 0: there is none */
	uint64_t tables[CPYTHON_TABLES_MAX]; /* of the pointers, in the order of the functions */
	size_t nr_tables;
	bool has_copies; /* of a function that no other pointer leads to: they cannot be passed by
			  */
};

/*
 * Find it in a file that exports PyObject_Malloc(). The tables are where the code of the exported
 * functions, each by its own word, takes the pointers from, and all of these lead into code of the
 * file. False: they were not found so.
 */
bool cpython_pools_find(const struct elf_image *image, struct cpython_pools *pools);

#endif
