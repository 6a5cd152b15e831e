/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts .debug_frame sections into .eh_frame sections with a search table. */
#ifndef PROFC_UNWIND_CFI_COPY_H
#define PROFC_UNWIND_CFI_COPY_H

#include <stdint.h>

#include "base/buf.h"
#include "unwind/cfi.h"

/*
 * Append to `out` what an .eh_frame would be that says the same as `section`, a .debug_frame,
 * of code moved by `bias`; and to `table`, for each entry, two 4-byte values as .eh_frame_hdr
 * has them, sorted: where its code begins and where it stands in `out`, relative to `out_at`,
 * where that is going to be. Entries too far from there are left out.
 */
void cfi_copy_debug_frame(const struct cfi_section *section, uint64_t bias, uint64_t out_at,
			  struct buf *out, struct buf *table);

/* How many bytes that will take at most. */
uint64_t cfi_copy_max_bytes(const struct cfi_section *section);

#endif
