/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HEAP_HEAP_REQUEST_H
#define PROFC_HEAP_HEAP_REQUEST_H

#include <stdbool.h>

struct err;
struct heap_options;

/* What a user asks of the recording of memory. */
struct heap_request {
	const char *rate; /* --mem: bytes, or "all"; borrowed. NULL: not asked for */
	bool has_pools;	  /* --mem-functions: by itself at the default rate */
	bool free_stacks; /* --mem-free-stacks */
	bool reachable;	  /* --reachable */
};

/* Is a word a rate, as a user may write it? */
bool heap_request_is_rate(const char *word);
bool heap_request_is_any(const struct heap_request *request);
/*
 * What that means for an allocator; if nothing is asked for, heap_options_are_set() is false of it.
 * ERR_INVALID, with words and the option in them: it is wrong, or its parts do not go together.
 */
int heap_request_read(const struct heap_request *request, struct heap_options *options,
		      struct err *err);

#endif
