/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolves all modules of a profile. */
#ifndef PROFC_SYMBOL_RESOLVE_H
#define PROFC_SYMBOL_RESOLVE_H

#include <stddef.h>

#include "symbol/types.h"

struct profile;

struct resolve_progress {
	void (*report)(void *context, size_t modules_done, size_t nr_modules, const char *module);
	/* profc asks a server for a module, which may take up to the timeout. */
	void (*asks)(void *context, const char *module);
	void *context;
};

/*
 * Resolve every frame of a profile, modules in parallel, and put chains, functions and
 * module_symbols into it. Never fails as a whole: module_symbols.problem says what a module lacks.
 * A module keeps the symbols of an earlier resolution if that found more. `progress` may be NULL;
 * only the calling thread calls it.
 */
void resolve_profile(struct profile *profile, const struct symbol_options *options,
		     const struct resolve_progress *progress);
/*
 * Resolve the frames from `first_frame` on, and code that programs make, whose names may come
 * later; all others keep their chains. There is room for all chains (profile_adopt_symbols()).
 */
void resolve_new_frames(struct profile *profile, const struct symbol_options *options,
			size_t first_frame);

#endif
