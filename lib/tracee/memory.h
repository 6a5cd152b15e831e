/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_MEMORY_H
#define PROFC_TRACEE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The smallest page that Linux has; all others are multiples of it. */
#define MEMORY_PAGE_BYTES 4096

/*
 * Copy memory of a thread that we may trace, stopped or not, from `start` on. Returns how many
 * bytes there were up to the first that is not mapped: 0 when there is nothing, or it is gone.
 */
size_t memory_read(pid_t tid, uint64_t start, void *room, size_t nr_bytes);

/*
 * How many bytes from `start` on are in memory already, so that reading them makes no page fault:
 * at most `nr_bytes`, and no more than 512 pages are looked at.
 */
size_t memory_present_bytes(pid_t tid, uint64_t start, size_t nr_bytes);

#endif
