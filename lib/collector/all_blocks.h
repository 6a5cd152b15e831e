/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_ALL_BLOCKS_H
#define PROFC_COLLECTOR_ALL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"
#include "stack/stack.h"

struct space;
struct unwind_step;
struct unwind_walk;
struct unwinder;

/* Stacks by their signatures, where all blocks are recorded. Zero-initialised is empty. */
struct signed_stack {
	uint64_t signature;
	uint32_t signer;
	struct stack_id stack;
	uint8_t end; /* enum stack_end */
};

struct signed_stacks {
	struct signed_stack *rows; /* owned */
	size_t nr, cap;
	struct index_set index;
};

void signed_stacks_release(struct signed_stacks *stacks);
/* One that is there already stays as it is. */
void signed_stacks_add(struct signed_stacks *stacks, const struct signed_stack *row);
/* NULL: its record was lost. Borrowed until the next addition. */
const struct signed_stack *signed_stacks_find(const struct signed_stacks *stacks, uint32_t signer,
					      uint64_t signature);

/* Has a process, by its serial, sign its stacks by a step, or by there being no caller. */
struct step_sink {
	void (*add_step)(void *context, uint32_t process, const struct unwind_step *step,
			 bool is_root); /* NULL: not all blocks are recorded */
	void *context;
};

/* A stack was walked in whole: have the process sign others that lead through the same places. */
void signed_stacks_tell(const struct step_sink *sink, uint32_t signer,
			const struct unwinder *unwinder, const struct space *space,
			const struct unwind_walk *walk);

#endif
