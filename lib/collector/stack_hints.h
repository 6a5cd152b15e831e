/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_STACK_HINTS_H
#define PROFC_COLLECTOR_STACK_HINTS_H

#include <stdbool.h>
#include <stdint.h>

struct snapshot;
struct thread_hints;
struct unwind_walk;

/* What the walks of a thread's stacks have needed; zero-initialised before the first. */
struct stack_needs {
	uint32_t nr_walks, deepest_bytes; /* the latter: that any of them needed of a stack */
	uint64_t root_sp;		  /* where the last whole walk ended, */
	uint32_t nr_to_root;		  /* so many of them in a row */
	bool has_other_roots;		  /* it cannot be told beforehand where one will */
};

/* A snapshot was walked: what the next capture of this thread is to go by. */
void stack_hints_update(struct thread_hints *hints, struct stack_needs *needs,
			const struct snapshot *snapshot, const struct unwind_walk *walk);

#endif
