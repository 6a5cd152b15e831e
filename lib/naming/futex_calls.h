/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system calls of a C library by which threads wait for each other, as places for probes. */
#ifndef PROFC_NAMING_FUTEX_CALLS_H
#define PROFC_NAMING_FUTEX_CALLS_H

#include <stdbool.h>

struct elf_image;
struct wanted;

/*
 * Add the instructions in front of each system call in the file that may be futex(2); no symbols
 * are needed. What cannot have a probe becomes a refusal. False: there is none.
 */
bool futex_calls_add(struct wanted *wanted, struct elf_image *image);

#endif
