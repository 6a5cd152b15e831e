/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which parts of an address space have pages. */
#ifndef PROFC_PROC_TOUCHED_H
#define PROFC_PROC_TOUCHED_H

#include <stdint.h>

/*
 * Programs reserve terabytes of addresses, of which they use little (the heaps of Java and Go,
 * AddressSanitizer). Moves *start to the first page from there on that is in memory or swapped
 * out, or to `end`. Returns the end of the pages in a row that are. `pagemap_fd` is of
 * /proc/PID/pagemap. Before Linux 6.7 nothing is known: returns `end`, and leaves *start.
 */
uint64_t proc_touched_from(int pagemap_fd, uint64_t *start, uint64_t end);

#endif
