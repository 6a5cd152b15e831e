/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_WAIT_DESCRIPTORS_H
#define PROFC_WAIT_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The files of a process' descriptors, from /proc/PID/fd. */
struct descriptors;

struct descriptors *descriptors_new(pid_t pid);
void descriptors_free(struct descriptors *descriptors); /* may be NULL */

/*
 * "/path", "pipe:[77]", "socket:[99]" … or NULL if it cannot be read; borrowed until the next call.
 * A text read some milliseconds before `now_ns`, CLOCK_MONOTONIC, is used again; *is_read if it was
 * read just now.
 */
const char *descriptors_object(struct descriptors *descriptors, int fd, uint64_t now_ns,
			       bool *is_read);

#endif
