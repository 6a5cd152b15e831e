/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_CONTEXTS_H
#define PROFC_INJECT_CONTEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "patch/patch.h"

struct target_memory;
struct stopped;

/* Where a thread goes on: its own registers, or those that a signal frame on its stack keeps. */
struct context {
	uint64_t pc, sp;
	uint64_t pushed[PATCH_MAX_PUSHED]; /* the registers that thunks push */
	bool is_in_call; /* its own: stopped in a system call, which may be made again */
	bool is_changed; /* by who was asked: it is to be written back */
};

struct context_search {
	uint64_t start, end; /* only contexts with a pc in [start, end) are told of */
	size_t stack_bytes;  /* how much of each stack is searched, from the stack pointer on */
	void (*found)(void *owner, struct context *context);
	void *owner;
};

/*
 * Registers are written back with stopped_end(), frames at once. False: one of a sleeper's own was
 * to be changed, which cannot be.
 */
bool contexts_for_each(struct stopped *stopped, struct target_memory *memory,
		       const struct context_search *search);
/* Would one of a sleeper's own be changed? `found` is asked about those alone. */
bool contexts_need_sleeper(const struct stopped *stopped, const struct context_search *search);

#endif
