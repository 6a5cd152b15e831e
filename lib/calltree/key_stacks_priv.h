/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums by key and stack. */
#ifndef PROFC_CALLTREE_KEY_STACKS_PRIV_H
#define PROFC_CALLTREE_KEY_STACKS_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"
#include "calltree/tally.h"

struct observation;
struct weights;

struct key_stack {
	uint32_t key;
	uint32_t stack; /* its id, KEY_STACK_NONE or KEY_STACK_UNATTRIBUTED */
	struct tally tally;
};

#define KEY_STACK_NONE	       0
#define KEY_STACK_UNATTRIBUTED UINT32_MAX

/* The weights of stacks in the samples of each key. Zero-initialised is empty. */
struct key_stacks {
	struct key_stack *rows; /* owned, in order of first occurrence */
	size_t nr, cap;
	struct index_set set;
};

void key_stacks_add(struct key_stacks *stacks, uint32_t key, const struct observation *part);

/*
 * Call this when all were added. Returns the numbers of the rows, key by key, those of a key in the
 * order of a descent of the weights; *begins: the start of each key, and the end of the last. The
 * caller frees both.
 */
uint32_t *key_stacks_by_key(struct key_stacks *stacks, size_t nr_keys,
			    const struct weights *weights, size_t **begins);
void key_stacks_release(struct key_stacks *stacks);

#endif
