/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_ROW_KEY_H
#define PROFC_BROWSE_ROW_KEY_H

#include <stddef.h>
#include <stdint.h>

struct expansion;
struct flat;

/*
 * What is the same function, thread or the like in a later profile of the same recording, whose
 * ids may be others, has the same key.
 */

/* By label. The caller frees it. */
uint64_t *browse_label_keys(const struct expansion *expansion);
uint64_t browse_label_key(const struct expansion *expansion, uint32_t label);
/* Of a row of a table. */
uint64_t browse_row_key(const struct flat *flat, size_t index);

#endif
