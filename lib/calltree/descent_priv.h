/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A walk down the stacks of samples, depth first. */
#ifndef PROFC_CALLTREE_DESCENT_PRIV_H
#define PROFC_CALLTREE_DESCENT_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/stack.h"

struct weights;

/* Enters each stack, then all its descendants, then leaves it. Stacks may be very deep. */
struct descent {
	const struct stack_trie *trie;	      /* borrowed */
	uint32_t *first_child, *next_sibling; /* by stack_id; 0: none. Owned */
	uint32_t at;
	bool is_left; /* else it is entered */
};

/* Visits the stacks that have weight, and all their callers. */
void descent_init(struct descent *descent, const struct weights *weights);
void descent_release(struct descent *descent);
/* The next step: `at` is entered, or left. False at the end. */
bool descent_next(struct descent *descent);

#endif
