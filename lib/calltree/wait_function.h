/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the function of a program that waits, when a thread is blocked somewhere in a library. */
#ifndef PROFC_CALLTREE_WAIT_FUNCTION_H
#define PROFC_CALLTREE_WAIT_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

struct expansion;
struct module;

#define WAIT_FUNCTION_NONE UINT32_MAX

/*
 * By stack_id, the label of the wait function: the innermost one outside the C library, similar
 * code (loader, threads, runtimes of C++ and Rust and the headers of these) and the kernel.
 * If a function of a script called the native code that waits, it is that function.
 * WAIT_FUNCTION_NONE where there is none, as in stacks that are truncated. In a program with a C
 * library linked in, its functions are recognised by name. The caller frees the array.
 */
uint32_t *wait_functions_of_stacks(const struct expansion *expansion);

/*
 * By thread, the label of the function that it began with: the outermost one that is the program's,
 * by the same rules, in most of its time. WAIT_FUNCTION_NONE where it is not known. The caller
 * frees the array.
 */
uint32_t *start_functions_of_threads(const struct expansion *expansion);

/*
 * Is it the C library, or one that waits on behalf of programs likewise, by the start of the file's
 * name? The kernel is one, too.
 */
bool wait_module_is_library(const struct module *module);

#endif
