/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VERDICT_HOT_PATH_PRIV_H
#define PROFC_VERDICT_HOT_PATH_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "calltree/tally.h"

struct weights;

/*
 * Find the path of calls from the root, each with more than half of the weight below it: at most
 * one call of each caller has so much. Writes their labels, outermost first, and returns their
 * number, `max` at most. Recursion is one call. Takes some bytes for each stack: far less than a
 * tree.
 */
size_t hot_path_find(const struct weights *weights, uint32_t *labels, size_t max);
/* The sum below the first nr calls of that path. */
struct tally hot_path_sum(const struct weights *weights, size_t nr);

#endif
