/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_SHOW_KERNEL_H
#define PROFC_PROFILE_SHOW_KERNEL_H

#include <stdbool.h>

struct profile;

/*
 * Put the kernel's functions, in which threads slept, below the stacks of their samples, for views
 * and exports that are to show them. False: no sample has any. A file is written without this.
 */
bool profile_show_kernel(struct profile *profile);

#endif
