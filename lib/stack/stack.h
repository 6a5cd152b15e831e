/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STACK_STACK_H
#define PROFC_STACK_STACK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Interned stacks. A stack is (parent stack, frame): the parent is the stack of the callers, so the
 * trie begins at the roots of the program and a stack's own frame is its leaf. Parents always have
 * smaller ids than their children: any pass over all stacks is a linear scan. Stack 0 is the empty
 * stack, its own parent.
 */
struct frame_id {
	uint32_t v;
};

struct stack_id {
	uint32_t v;
};

#define STACK_EMPTY ((struct stack_id){0})

struct stack_trie;

struct stack_trie *stack_trie_new(void);
void stack_trie_free(struct stack_trie *trie);
struct stack_id stack_trie_intern(struct stack_trie *trie, struct stack_id parent,
				  struct frame_id frame);
/*
 * As above for a new stack, as when reading stacks from a file: no search. Appending a stack twice
 * merely gives it two ids.
 */
struct stack_id stack_trie_append(struct stack_trie *trie, struct stack_id parent,
				  struct frame_id frame);
/* The empty stack has no frame: asking for it is a bug. */
struct frame_id stack_trie_frame(const struct stack_trie *trie, struct stack_id stack);
struct stack_id stack_trie_parent(const struct stack_trie *trie, struct stack_id stack);
uint32_t stack_trie_depth(const struct stack_trie *trie, struct stack_id stack);
uint32_t stack_trie_nr(const struct stack_trie *trie); /* including the empty one */

#endif
