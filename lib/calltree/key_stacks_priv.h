/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums by key and stack, and the rows for these with the code of the stacks. */
#ifndef PROFC_CALLTREE_KEY_STACKS_PRIV_H
#define PROFC_CALLTREE_KEY_STACKS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"
#include "calltree/flat_best_priv.h"
#include "calltree/flat_priv.h"

struct observation;

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

/* Makes rows of these: a row is of a key, and of code in its stacks. */
struct key_rows {
	const struct flat *flat;	 /* all are borrowed */
	const struct flat *keys, *codes; /* tables with keys and codes as row numbers */
	const uint32_t *code_of_level;	 /* by level of the expansion: row of `codes`, FLAT_NONE */
	uint32_t code_unattributed, code_no_stack;
	bool groups_are_codes; /* else they are keys */
	struct flat_best best; /* gets the rows */
};

/* Make the rows, one key at a time, and release the sums. */
void key_stacks_count(struct key_stacks *stacks, struct key_rows *rows);

#endif
