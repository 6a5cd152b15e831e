/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_COUNT_ALLOCATIONS_H
#define PROFC_TESTS_COUNT_ALLOCATIONS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Counts what the program that includes this, and every library in it, allocates: its
 * malloc() and the like stand before the C library's. Include it in one file only. Not under
 * sanitizers, which do the same, nor with other C libraries, where nothing is counted.
 */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 1

void *__libc_malloc(size_t nr_bytes);
void *__libc_calloc(size_t nr, size_t nr_bytes);
void *__libc_realloc(void *old, size_t nr_bytes);

static uint64_t allocations_made;

void *malloc(size_t nr_bytes)
{
	allocations_made++;
	return __libc_malloc(nr_bytes);
}

void *calloc(size_t nr, size_t nr_bytes)
{
	allocations_made++;
	return __libc_calloc(nr, nr_bytes);
}

void *realloc(void *old, size_t nr_bytes)
{
	allocations_made++;
	return __libc_realloc(old, nr_bytes);
}

static inline uint64_t count_allocations(void)
{
	return allocations_made;
}
#else
#define COUNTS_ALLOCATIONS 0

static inline uint64_t count_allocations(void)
{
	return 0;
}
#endif

#endif
