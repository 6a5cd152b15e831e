/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_CONTEXTS_H
#define PROFC_INJECT_CONTEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "patch/patch.h"

struct target_memory;
struct stopped;

/* Where a thread will continue: its registers, or those saved in a signal frame on its stack. */
struct context {
	uint64_t pc, sp;
	uint64_t flags;			   /* not on aarch64 */
	uint64_t pushed[PATCH_MAX_PUSHED]; /* the registers that thunks push */
	bool is_in_call; /* its registers, in a system call that may be restarted */
	bool is_changed; /* set by the callback: write the context back */
};

/* Stacks are read in pieces of so many bytes. */
#define CONTEXTS_PIECE_BYTES ((size_t)64 << 10)

struct context_search {
	uint64_t start, end; /* only contexts with a pc in [start, end) */
	size_t stack_bytes;  /* searched of each stack, from the stack pointer on */
	void (*found)(void *owner, struct context *context);
	void *owner;
};

/*
 * Call `found` for each context. Registers are written back by stopped_end(), frames at once.
 * False: registers of a sleeper were to change, which is impossible.
 */
bool contexts_for_each(struct stopped *stopped, struct target_memory *memory,
		       const struct context_search *search);
/* Would registers of a sleeper change? Calls `found` for these only. */
bool contexts_need_sleeper(const struct stopped *stopped, const struct context_search *search);

#endif
