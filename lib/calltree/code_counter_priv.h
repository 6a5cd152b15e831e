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
 * The sums of one code for the current key. self: weight in the code itself; total: weight with the
 * code anywhere in the stack, each stack once; called: the part of the total that has a copy of the
 * code which is not inlined.
 */
struct code_sum {
	struct tally self, total, called;
	bool is_met;	 /* the key has the code */
	bool is_inlined; /* every copy of the code in the key's stacks is inlined */
	/* levels of the current stack that have the code; those of them that are not inlined */
	uint32_t nr_on_path, nr_called_on_path;
};

/* A code is a number that the levels of one function, line or the like share, or CODE_NONE. */
#define CODE_NONE UINT32_MAX

struct code_map {
	const uint32_t *of_level; /* by level of the expansion */
	size_t nr_codes;
	bool with_calls; /* sums have `called` */
	/*
	 * A level without a code has its self weight in the nearest caller with one; if there is
	 * none, in the code `of_others`.
	 */
	bool charges_callers;
	uint32_t of_others;
};

struct code_counter {
	struct code_map map;
	const struct expansion *expansion;
	const struct stack_trie *trie;
	struct code_sum *sums; /* by code */
	uint32_t *met_codes;   /* the codes that the current key has */
	size_t nr_met_codes;
	/*
	 * By depth: the current stack and its callers, and what was added of each of them and of
	 * the stacks below it.
	 */
	uint32_t *path;
	uint32_t *charged; /* the code that has the self weight */
	struct tally *below;
	uint32_t depth;
};

/* Count the stacks of these weights. The array of the map is borrowed. */
void code_counter_init(struct code_counter *counter, const struct weights *weights,
		       const struct code_map *map);
void code_counter_release(struct code_counter *counter);

/* The code that has the self weight of a stack: of its innermost level, or charged; or CODE_NONE.
 */
uint32_t code_counter_leaf(const struct code_counter *counter, struct stack_id stack);
/* Add weight of a stack to the current key. The stacks of a key come in the order of a descent. */
void code_counter_add(struct code_counter *counter, struct stack_id stack,
		      const struct tally *tally);
/* Add weight without a stack, of a code alone, to the current key. CODE_NONE: leave it out. */
void code_counter_add_alone(struct code_counter *counter, uint32_t code, const struct tally *tally);
/* The sums of a code for the current key, which has the code from now on. */
struct code_sum *code_counter_meet(struct code_counter *counter, uint32_t code);
/* Complete the sums of a key when all of its stacks were added. */
void code_counter_finish(struct code_counter *counter);
/* Forget the sums, for the next key. */
void code_counter_clear(struct code_counter *counter);

#endif
