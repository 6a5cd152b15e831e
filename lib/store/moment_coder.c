// SPDX-License-Identifier: GPL-2.0-or-later
/* The state that reading and writing of moments of memory share. */
#include <stdlib.h>

#include "base/alloc.h"
#include "store/format_heap_priv.h"

void moment_coder_release(struct moment_coder *coder)
{
	free(coder->last);
	*coder = (struct moment_coder){0};
}

struct profile_heap_moment *moment_coder_last(struct moment_coder *coder, uint32_t process)
{
	ARRAY_RESERVE(coder->last, (size_t)process + 1, coder->cap_processes);
	while (coder->nr_processes <= process)
		coder->last[coder->nr_processes++] = (struct profile_heap_moment){0};
	return &coder->last[process];
}
