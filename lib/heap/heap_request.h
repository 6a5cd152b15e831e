/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HEAP_HEAP_REQUEST_H
#define PROFC_HEAP_HEAP_REQUEST_H

#include <stdbool.h>

struct err;
struct heap_options;

/* The user's request to record memory. */
struct heap_request {
	const char *rate; /* --mem: bytes, or "all"; borrowed. NULL: not asked for */
	bool has_pools;	  /* --mem-functions; alone, it records at the default rate */
	bool free_stacks; /* --mem-free-stacks */
	bool reachable;	  /* --reachable */
};

/* Is the word a size, or "all"? */
bool heap_request_is_rate(const char *word);
bool heap_request_is_any(const struct heap_request *request);
/*
 * Translate the request; if it is empty, heap_options_are_set() is false afterwards. ERR_INVALID,
 * with a message that names the option: a value is wrong, or options do not go together.
 */
int heap_request_read(const struct heap_request *request, struct heap_options *options,
		      struct err *err);

#endif
