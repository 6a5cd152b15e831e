/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the process that a pidfd of another process refers to. */
#ifndef PROFC_PROC_PIDFD_H
#define PROFC_PROC_PIDFD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The process that a pidfd is of, from the text of its /proc/PID/fdinfo/N; 0 if it is of none. */
pid_t proc_pidfd_parse(const char *text, size_t nr_bytes);

/* The process that descriptor `fd` of process `holder` is a pidfd of; 0 if it is none. */
pid_t proc_pidfd_process(pid_t holder, int fd);

/*
 * Does `holder` have a pidfd of process `pid` open? Also true if it has more descriptors than can
 * be checked in a fraction of a millisecond; false if they cannot be read.
 */
bool proc_may_hold_pidfd(pid_t holder, pid_t pid);

#endif
