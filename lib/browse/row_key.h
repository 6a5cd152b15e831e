/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_ROW_KEY_H
#define PROFC_BROWSE_ROW_KEY_H

#include <stddef.h>
#include <stdint.h>

struct expansion;
struct flat;

/*
 * A function, thread or the like has the same key in a later profile of the same recording, even if
 * its ids differ there.
 */

/* By label. The caller frees the array. */
uint64_t *browse_label_keys(const struct expansion *expansion);
uint64_t browse_label_key(const struct expansion *expansion, uint32_t label);
/* The key of a table's row. */
uint64_t browse_row_key(const struct flat *flat, size_t index);

#endif
