/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_PERMISSION_H
#define PROFC_TRACEE_PERMISSION_H

#include <sys/types.h>

struct err;

/*
 * May we trace a process, named by the id of any of its threads? Asked by doing it: a thread of
 * ours seizes one of its threads and ends, which lets that go without a stop. 0, with its id in
 * *tgid, or the true reason (ERR_GONE, ERR_PERMISSION, ERR_UNSUPPORTED for a 32-bit program) with
 * a hint. Another process that traces it for a moment, as profc itself does, is waited for.
 */
int permission_to_trace(pid_t pid, pid_t *tgid, struct err *err);

#endif
