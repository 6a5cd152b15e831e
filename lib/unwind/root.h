/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides whether the last frame of a stack is the root of its thread. */
#ifndef PROFC_UNWIND_ROOT_H
#define PROFC_UNWIND_ROOT_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/stack_end.h"

struct row_query;
struct rows;
struct walk;

/*
 * The kind of end of a stack with `sp` in its last frame, if the frame itself does not prove that
 * it is outermost (its return address is 0, or it never returns).
 *
 * STACK_END_ROOT: at the top of the thread's own stack, with no return address above it.
 * STACK_END_OTHER_STACK: on a stack that is known not to be the thread's own.
 * STACK_END_UNPROVED: neither is known.
 */
enum stack_end root_at(struct rows *rows, const struct row_query *query, uint64_t sp);

/*
 * Is `address`, in place of a return address, the address of argc? The kernel put that there, so
 * this code was not called (Go's rt0_go).
 */
bool root_is_above(const struct walk *walk, uint64_t address);

#endif
