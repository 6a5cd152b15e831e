/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_WAIT_DESCRIPTORS_H
#define PROFC_WAIT_DESCRIPTORS_H

#include <stdint.h>
#include <sys/types.h>

/* What the descriptors of a process are, as /proc/PID/fd says it. */
struct descriptors;

struct descriptors *descriptors_new(pid_t pid);
void descriptors_free(struct descriptors *descriptors); /* may be NULL */

/*
 * "/path", "pipe:[77]", "socket:[99]" … or NULL where that cannot be read; borrowed until the next
 * call. What was read some milliseconds before `now_ns`, CLOCK_MONOTONIC, is believed.
 */
const char *descriptors_object(struct descriptors *descriptors, int fd, uint64_t now_ns);

#endif
