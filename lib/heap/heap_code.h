/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blob: code for processes with recorded allocations. */
#ifndef PROFC_HEAP_HEAP_CODE_H
#define PROFC_HEAP_HEAP_CODE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copy this to where struct heap_shared ends, at a multiple of the page. It begins with struct
 * heap_rules, to be filled in, and the stub. *nr_bytes is 0 if this processor has none.
 */
const uint8_t *heap_code(size_t *nr_bytes);

#endif
