/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_KERNEL_STACK_H
#define PROFC_PROC_KERNEL_STACK_H

#include <stddef.h>

/*
 * The text of /proc/PID/task/TID/stack: one "[<0>] function+0x1c/0x90 [module]" a line, innermost
 * first; or that of wchan, a single function without a new line.
 */

/* The kernel shows at most so many. */
#define KERNEL_STACK_MAX 64

/* Longer texts are cut: the outermost functions are left out. */
#define KERNEL_STACK_TEXT_BYTES 4096

/* Borrows the text. */
struct kernel_function {
	const char *name;
	size_t nr_bytes;
};

/*
 * Fills `out` with the functions, innermost first, without those by which every system call or
 * fault enters the kernel, and without addresses that have no name. Returns their number.
 */
size_t kernel_stack_parse(const char *text, size_t nr_bytes,
			  struct kernel_function out[KERNEL_STACK_MAX]);

#endif
