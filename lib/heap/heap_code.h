/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code that is put into processes whose allocations are sampled. */
#ifndef PROFC_HEAP_HEAP_CODE_H
#define PROFC_HEAP_HEAP_CODE_H

#include <stddef.h>
#include <stdint.h>

/*
 * To be copied to wherever struct heap_shared ends, a multiple of the page; it begins with struct
 * heap_rules, to be filled in, and the stub. *nr_bytes is 0 where there is none for this processor.
 */
const uint8_t *heap_code(size_t *nr_bytes);

#endif
