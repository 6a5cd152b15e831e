/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VERDICT_HOT_PATH_PRIV_H
#define PROFC_VERDICT_HOT_PATH_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "calltree/tally.h"

struct weights;

/*
 * The calls from the roots on below which more than half of the weight is: of each caller one has
 * so much, or none. Writes their labels, outermost first, and returns how many there are, `max` at
 * most. Recursion is one call. Takes some bytes for each stack: far less than a tree.
 */
size_t hot_path_find(const struct weights *weights, uint32_t *labels, size_t max);
/* The sum below the first nr calls of that path. */
struct tally hot_path_sum(const struct weights *weights, size_t nr);

#endif
