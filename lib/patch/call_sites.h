/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PATCH_CALL_SITES_H
#define PROFC_PATCH_CALL_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "patch/patch.h"

/* The calls that functions of a file make, by address. Zero-initialised is empty. */
struct call_site {
	struct patch_call_site site; /* without its bytes */
	const char *function;	     /* that makes the call; borrowed */
};

struct call_sites {
	struct call_site *at; /* owned */
	size_t nr, cap;
};

void call_sites_release(struct call_sites *sites);
/* The code of a function. All borrowed. */
struct call_code {
	const char *function;
	uint64_t address;
	const uint8_t *bytes;
	size_t nr_bytes;
	/* Does a jump lead to another function? NULL: jumps are no calls. */
	bool (*is_function)(const void *context, uint64_t address);
	const void *context;
};

/*
 * Add the calls in the code of a function, by address; functions that overlap give each call once.
 * False: there is data among the code; only the calls before it were added.
 */
bool call_sites_add(struct call_sites *sites, const struct call_code *code);

#endif
