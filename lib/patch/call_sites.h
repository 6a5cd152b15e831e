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
	const char *function;	     /* that makes it; borrowed */
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
	/* Is it another function that a jump leads to? NULL: jumps are no calls. */
	bool (*is_function)(const void *context, uint64_t address);
	const void *context;
};

/*
 * Add those in the code of a function, in the order of addresses; of functions that overlap each
 * call is there once. False: data stands among the code; only the calls before it are added.
 */
bool call_sites_add(struct call_sites *sites, const struct call_code *code);

#endif
