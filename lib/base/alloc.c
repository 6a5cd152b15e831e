// SPDX-License-Identifier: GPL-2.0-or-later
/* Allocation that aborts when memory is out, and bounded allocation for sizes from outside. */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* Out of memory: abort, as no clean-up can be trusted to work without memory. */
static _Noreturn void out_of_memory(void)
{
	char text[128] = "profc: out of memory\n";
	struct rlimit space;
	ssize_t written;

	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
		snprintf(text, sizeof(text), "profc: out of memory: ulimit -v allows %llu kB\n",
			 (unsigned long long)space.rlim_cur / 1024);
	written = write(STDERR_FILENO, text, strlen(text));
	(void)written;
	_exit(125);
}

void *xmalloc(size_t bytes)
{
	void *block = malloc(bytes ? bytes : 1);

	if (!block)
		out_of_memory();
	return block;
}

void *xcalloc(size_t nr, size_t bytes)
{
	void *block = calloc(nr ? nr : 1, bytes ? bytes : 1);

	if (!block)
		out_of_memory();
	return block;
}

void *xrealloc_array(void *old, size_t nr, size_t bytes)
{
	void *block = reallocarray(old, nr ? nr : 1, bytes ? bytes : 1);

	if (!block)
		out_of_memory();
	return block;
}

void *xrealloc(void *old, size_t bytes)
{
	return xrealloc_array(old, 1, bytes);
}

void *xmemdup(const void *bytes, size_t nr_bytes)
{
	void *copy = xmalloc(nr_bytes);

	if (nr_bytes)
		memcpy(copy, bytes, nr_bytes);
	return copy;
}

char *xstrndup(const char *text, size_t bytes)
{
	size_t length = strnlen(text, bytes);
	char *copy = xmalloc(length + 1);

	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

char *xstrdup(const char *text)
{
	return xstrndup(text, SIZE_MAX);
}

char *xasprintf(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		out_of_memory();
	return text;
}

void *alloc_bounded(size_t nr, size_t bytes, size_t max)
{
	if (nr > max)
		return NULL;
	return calloc(nr ? nr : 1, bytes ? bytes : 1);
}

size_t array_grown_cap(size_t cap, size_t need)
{
	size_t grown = cap ? cap * 2 : 16;

	return grown > need ? grown : need;
}
