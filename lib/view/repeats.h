/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recursion as one line: "f (× 20,001)". */
#ifndef PROFC_VIEW_REPEATS_H
#define PROFC_VIEW_REPEATS_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct level;

/* Append " (× 20,001)"; nothing for one. */
void append_repeats(struct buf *out, uint64_t nr);

/* How many of the last levels (nr of them, root first) are the same place in the same function. */
size_t nr_same_levels(const struct level *levels, size_t nr);

#endif
