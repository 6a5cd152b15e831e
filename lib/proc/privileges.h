/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detects set-user-ID programs that run without the privileges of that user. */
#ifndef PROFC_PROC_PRIVILEGES_H
#define PROFC_PROC_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Does the process run a set-user-ID program without that user's privileges, because it was traced
 * by a tracer without CAP_SYS_PTRACE at its execve(2)? False also if that is unknown, or if the
 * privileges are missing for another reason.
 */
bool proc_lacks_set_user_id(pid_t pid);

#endif
