/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which function of a program waits, when a thread is blocked somewhere in a library. */
#ifndef PROFC_CALLTREE_WAIT_FUNCTION_H
#define PROFC_CALLTREE_WAIT_FUNCTION_H

#include <stdint.h>

struct expansion;

#define WAIT_FUNCTION_NONE UINT32_MAX

/*
 * By stack_id, the label of the wait function: the innermost one that is not of the C library, of
 * what is like it (loader, threads, runtimes of C++ and Rust and the headers of these) or of the
 * kernel. WAIT_FUNCTION_NONE where there is none, as in stacks that are truncated. In a program
 * with a C library linked in, that is known by the names of functions. The caller frees the array.
 */
uint32_t *wait_functions_of_stacks(const struct expansion *expansion);

#endif
