/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_KERNEL_FRAMES_H
#define PROFC_COLLECTOR_KERNEL_FRAMES_H

#include "stack/stack.h"

struct profile;
struct snapshot;

/*
 * The kernel's functions of a sleep as a stack of the profile, which begins below the system call.
 * Empty: the snapshot has none.
 */
struct stack_id kernel_frames_intern(struct profile *profile, const struct snapshot *snapshot);

#endif
