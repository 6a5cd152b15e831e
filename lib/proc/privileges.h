/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detects set-user-ID programs that run without the privileges of that user. */
#ifndef PROFC_PROC_PRIVILEGES_H
#define PROFC_PROC_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Does the process run a set-user-id program without that user's privileges? So it is with
 * one that was executed while a tracer without CAP_SYS_PTRACE watched. False also where that
 * cannot be known, or where something else than a tracer forbids it.
 */
bool proc_lacks_set_user_id(pid_t pid);

#endif
