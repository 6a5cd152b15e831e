/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_STEP_SINK_H
#define PROFC_UNWIND_STEP_SINK_H

#include <stdbool.h>
#include <stdint.h>

struct space;
struct unwind_step;
struct unwind_walk;
struct unwinder;

/*
 * Receives steps, or the absence of a caller, for a process (by its serial) to sign its stacks
 * with.
 */
struct step_sink {
	void (*add_step)(void *context, uint32_t process, const struct unwind_step *step,
			 bool is_root); /* NULL: not all blocks are recorded */
	void *context;
};

/* A stack was walked wholly: have the process sign others that lead through the same places. */
void step_sink_tell(const struct step_sink *sink, uint32_t signer, const struct unwinder *unwinder,
		    const struct space *space, const struct unwind_walk *walk);

#endif
