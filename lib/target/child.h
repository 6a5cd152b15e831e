/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_CHILD_H
#define PROFC_TARGET_CHILD_H

#include <sys/types.h>

/*
 * Wait for a command of target_spawn() that is no longer traced, and reap it. 0, with
 * *status as of waitpid(2), or -1 with errno when there is no such child.
 */
int child_reap(pid_t pid, int *status);

#endif
