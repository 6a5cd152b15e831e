/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PERL_LOOPS_H
#define PROFC_SCRIPT_PERL_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "script/perl.h"

struct perl_context;
struct script_native;

/* The native frames of a stack, and which of them are loops that run operations. */
struct perl_loops {
	const struct perl *perl; /* borrowed, as are the frames */
	const struct script_native *natives;
	size_t nr_natives;
	size_t *at; /* owned: indexes of native frames; the outermost loop first */
	size_t nr;
};

void perl_loops_find(struct perl_loops *loops, const struct perl *perl,
		     const struct script_native *natives, size_t nr_natives);
void perl_loops_release(struct perl_loops *loops);

/* Is native frame i in the code of this function? */
bool perl_loops_is_in(const struct perl_loops *loops, size_t i, enum perl_function function);

/* The context has no loop: it is beginning, ending, or between two runs of its operations. */
#define PERL_NO_LOOP SIZE_MAX

/*
 * Find the loop of each context, of which the innermost is first: an index of loops->at, or
 * PERL_NO_LOOP. `has_main`: the outermost loop may be that of the main program; it is then set to
 * whether it is. False: contexts and loops do not agree.
 */
bool perl_loops_match(const struct perl_loops *loops, const struct perl_context *contexts,
		      size_t nr_contexts, bool *has_main, size_t *loop_of);

#endif
