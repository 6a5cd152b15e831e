// SPDX-License-Identifier: GPL-2.0-or-later
/* A pool that hands out what malloc() gives it. */
#include <stdlib.h>

void *library_get(size_t nr);

void *library_get(size_t nr)
{
	void *block = malloc(nr);

	__asm__ volatile("" : "+r"(block)); /* no tail call */
	return block;
}
