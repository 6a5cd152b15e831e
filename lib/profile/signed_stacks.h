/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_SIGNED_STACKS_H
#define PROFC_PROFILE_SIGNED_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"
#include "stack/stack.h"

/* Stacks by their signatures, where all blocks are recorded. Zero-initialised is empty. */
struct signed_stack {
	uint64_t signature;
	uint32_t signer;
	struct stack_id stack;
	uint8_t end; /* enum stack_end */
};

#define SIGNED_STACKS_RECENT 256

struct signed_stacks {
	struct signed_stack *rows; /* owned */
	size_t nr, cap;
	struct index_set index;
	uint32_t recent[SIGNED_STACKS_RECENT]; /* rows, by signature: some that were found last */
};

void signed_stacks_release(struct signed_stacks *stacks);
/* A stack that is there already stays as it is. */
void signed_stacks_add(struct signed_stacks *stacks, const struct signed_stack *row);
/* NULL: its record was lost. Borrowed until the next addition. */
const struct signed_stack *signed_stacks_find(struct signed_stacks *stacks, uint32_t signer,
					      uint64_t signature);

#endif
