/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolves all modules of a profile. */
#ifndef PROFC_SYMBOL_RESOLVE_H
#define PROFC_SYMBOL_RESOLVE_H

#include <stddef.h>

#include "symbol/types.h"

struct profile;

struct resolve_progress {
	void (*report)(void *context, size_t modules_done, size_t nr_modules, const char *module);
	/* A server is asked about a module, which may take as long as servers are waited for. */
	void (*asks)(void *context, const char *module);
	void *context;
};

/*
 * Resolve every frame of a profile, modules in parallel, and put chains,
 * functions and module_symbols into it. Never fails as a whole: what a module
 * lacks is said in its module_symbols.problem. A module of which an earlier
 * resolution knew more keeps what it had. `progress` may be NULL and is
 * called from the calling thread only.
 */
void resolve_profile(struct profile *profile, const struct symbol_options *options,
		     const struct resolve_progress *progress);

#endif
