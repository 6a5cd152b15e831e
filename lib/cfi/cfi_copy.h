/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts .debug_frame sections into .eh_frame sections with a search table. */
#ifndef PROFC_CFI_CFI_COPY_H
#define PROFC_CFI_CFI_COPY_H

#include <stdint.h>

#include "base/buf.h"
#include "cfi/cfi.h"

/*
 * Append to `out` an .eh_frame with the contents of `section`, a .debug_frame, for code moved by
 * `bias`. Append to `table`, for each entry, two 4-byte values in the form of .eh_frame_hdr,
 * sorted: the start of its code and its position in `out`, relative to `out_at`, the future address
 * of `out`. Entries too far from there are left out.
 */
void cfi_copy_debug_frame(const struct cfi_section *section, uint64_t bias, uint64_t out_at,
			  struct buf *out, struct buf *table);

/* An upper bound on the bytes that takes. */
uint64_t cfi_copy_max_bytes(const struct cfi_section *section);

#endif
