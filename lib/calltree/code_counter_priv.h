/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums over stacks by the code in them, for one key after the other. */
#ifndef PROFC_CALLTREE_CODE_COUNTER_PRIV_H
#define PROFC_CALLTREE_CODE_COUNTER_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/tally.h"
#include "stack/stack.h"

struct expansion;
struct weights;

/*
 * The sums of one code for the current key: weight in the code itself; weight with the code
 * anywhere in the stack, each stack once; and the part of this below a copy that is not inlined.
 */
struct code_sum {
	struct tally self, total, called;
	bool is_met;	 /* the key has it */
	bool is_inlined; /* every copy of it in the key's stacks is */
	/* levels of the current stack that have it; of these, those that are not inlined */
	uint32_t nr_on_path, nr_called_on_path;
};

/* A code is a number that levels have in common: CODE_NONE where a level has none. */
#define CODE_NONE UINT32_MAX

struct code_map {
	const uint32_t *of_level; /* by level of the expansion */
	size_t nr_codes;
	bool with_calls; /* sums have `called` */
};

struct code_counter {
	struct code_map map;
	const struct expansion *expansion;
	const struct stack_trie *trie;
	struct code_sum *sums; /* by code */
	uint32_t *met_codes;   /* those that the current key has */
	size_t nr_met_codes;
	/*
	 * By depth: the current stack and its callers, and the sums of what was added of each and
	 * of its descendants.
	 */
	uint32_t *path;
	struct tally *below;
	uint32_t depth;
};

/* For the stacks that have weight; the array of the map is borrowed. */
void code_counter_init(struct code_counter *counter, const struct weights *weights,
		       const struct code_map *map);
void code_counter_release(struct code_counter *counter);

/* The code of a stack's innermost level, which has its self weight; or CODE_NONE. */
uint32_t code_counter_leaf(const struct code_counter *counter, struct stack_id stack);
/* Add weight of a stack to the current key. The stacks of a key come in the order of a descent. */
void code_counter_add(struct code_counter *counter, struct stack_id stack,
		      const struct tally *tally);
/* The same for weight without a stack: it is that of a code alone. CODE_NONE: leave it out. */
void code_counter_add_alone(struct code_counter *counter, uint32_t code, const struct tally *tally);
/* The sums of a code, which the key has from now on. */
struct code_sum *code_counter_meet(struct code_counter *counter, uint32_t code);
/* All stacks of the key were added: complete its sums. */
void code_counter_finish(struct code_counter *counter);
/* Forget the sums: the next key begins. */
void code_counter_clear(struct code_counter *counter);

#endif
