/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_ALLOC_H
#define PROFC_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Two kinds of allocation, never mixed:
 *
 * - sizes that profc chose: the x-functions, which end the program with a message when memory is
 *   out (there is nothing sensible left to do);
 * - sizes that a file or a target chose: alloc_bounded(), which checks the product and an explicit
 *   bound and returns NULL, so that a lying length becomes a clear error.
 *
 * All of them hand the block to the caller, to be freed with free().
 */
void *xmalloc(size_t bytes) __attribute__((malloc, returns_nonnull, alloc_size(1)));
void *xcalloc(size_t nr, size_t bytes) __attribute__((malloc, returns_nonnull, alloc_size(1, 2)));
void *xrealloc_array(void *old, size_t nr, size_t bytes)
	__attribute__((returns_nonnull, alloc_size(2, 3)));
/*
 * For libiberty's demanglers only: without it they would link libiberty's own xmalloc() and the
 * rest, next to ours.
 */
void *xrealloc(void *old, size_t bytes) __attribute__((returns_nonnull, alloc_size(2)));
char *xstrdup(const char *text) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *text, size_t bytes) __attribute__((malloc, returns_nonnull));
void *xmemdup(const void *bytes, size_t nr_bytes) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *format, ...)
	__attribute__((malloc, returns_nonnull, format(printf, 1, 2)));

/* Zeroed room for nr elements; NULL if nr > max, on overflow, or out of memory. nr 0 is valid. */
void *alloc_bounded(size_t nr, size_t bytes, size_t max);

/*
 * Make room for one more element in a growing array:
 *	ARRAY_GROW(rows, nr_rows, cap_rows);
 *	rows[nr_rows++] = row;
 * Capacity doubles; the array is freed with free().
 */
#define ARRAY_GROW(array, nr, cap) ARRAY_RESERVE(array, (size_t)(nr) + 1, cap)

/* Make room for at least `need` elements in all. */
#define ARRAY_RESERVE(array, need, cap)                                                            \
	do {                                                                                       \
		if ((need) > (cap)) {                                                              \
			size_t grown_ = array_grown_cap((cap), (need));                            \
			(array) = xrealloc_array((array), grown_, sizeof(*(array)));               \
			(cap) = grown_;                                                            \
		}                                                                                  \
	} while (0)

size_t array_grown_cap(size_t cap, size_t need);

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Scope guards: `cleanup_free char *line = NULL;`, `cleanup_close int fd = -1;` */
static inline void cleanup_free_fn(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

static inline void cleanup_close_fn(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define cleanup_free  __attribute__((cleanup(cleanup_free_fn)))
#define cleanup_close __attribute__((cleanup(cleanup_close_fn)))

#endif
