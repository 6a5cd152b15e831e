/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums over stacks by the code in them, for one key after the other. */
#ifndef PROFC_CALLTREE_CODE_COUNTER_PRIV_H
#define PROFC_CALLTREE_CODE_COUNTER_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/tally.h"
#include "stack/stack.h"

struct code_frame;
struct code_node;
struct code_step;
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
	struct code_frame *frames; /* by stack_id */
	struct code_step *steps;
	size_t nr_steps, cap_steps;
	struct code_sum *sums; /* by code */
	uint32_t *met_codes;   /* those that the current key has */
	size_t nr_met_codes;
	/*
	 * The stacks of the current key: paths up that end below a stack of another path, or at the
	 * root.
	 */
	struct code_node *nodes;
	size_t nr_nodes, cap_nodes;
	size_t *ways; /* the start of each path in `nodes` */
	size_t nr_ways, cap_ways;
	uint32_t *node_of; /* by stack_id, for stacks in `nodes` */
};

/* For the stacks that have weight; the arrays of the map are borrowed. */
void code_counter_init(struct code_counter *counter, const struct weights *weights,
		       const struct code_map *map);
void code_counter_release(struct code_counter *counter);

/* The code of a stack's innermost level, which has its self weight; or CODE_NONE. */
uint32_t code_counter_leaf(const struct code_counter *counter, struct stack_id stack);
/* Add weight of a stack to the current key. */
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
