/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_TREE_H
#define PROFC_CALLTREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/tally.h"

struct weights;

/*
 * Call trees: nodes are (parent, label), so that two calls of one function by the same path are one
 * node, even on different lines. Node 0 is the root of the tree and has no label. Parents have
 * smaller ids than their children.
 */
struct tree_node {
	uint32_t parent;
	uint32_t label;			    /* TREE_NO_LABEL for the root */
	uint32_t first_child, next_sibling; /* 0: none; heaviest first */
	bool inlined;			    /* all its copies here were inlined into their caller */
	bool unsampled;			    /* it has only counts */
	/*
	 * Were its calls counted? The count is of the calls by its caller, if that is known, else
	 * of all calls of the function. In a tree of callers it is of the calls to the tree's
	 * function; further up there is none.
	 */
	bool counted;
	/* Folded trees: the longest run of levels, each calling the next, in this node. */
	uint32_t repeats;
	bool shared; /* the count is not of this place alone, and cannot be divided */
	uint64_t calls;
	struct tally self, total;
};

struct tree {
	const struct weights *weights; /* borrowed */
	struct tree_node *nodes;       /* owned */
	size_t nr, cap;
	bool of_callers; /* it goes from the leaves up: see tree_new_callers() */
	bool is_folded;
};

#define TREE_ROOT     0
#define TREE_NO_LABEL UINT32_MAX

/*
 * The whole profile from the roots down. Stacks with walks that did not reach the root are below a
 * node with the reason; time without a stack is a node by itself.
 */
struct tree *tree_new(const struct weights *weights);

/*
 * The callees of the functions set in `wanted` (by label id): one tree below each function, merged
 * over all its callers. In recursion the outermost call counts.
 */
struct tree *tree_new_callees(const struct weights *weights, const bool *wanted);

/*
 * The callers of the wanted functions: below each function its callers, below those theirs. A
 * node's total is the weight that came by this path; its self is that of stacks that begin at it.
 */
struct tree *tree_new_callers(const struct weights *weights, const bool *wanted);

/* The kind of tree; of the whole profile if both are NULL. */
struct tree_request {
	const bool *callees_of, *callers_of; /* `wanted`, borrowed */
	/*
	 * Fold recursion, as people read trees: a function that calls itself, directly or not, is
	 * one node, with its callees at any depth below it. Its calls are those by others and by
	 * itself.
	 */
	bool is_folded;
	/* A node [page fault] below a function has the work of the kernel for its page faults. */
	bool has_faults;
};

struct tree *tree_new_as(const struct weights *weights, const struct tree_request *request);

void tree_free(struct tree *tree);

#endif
