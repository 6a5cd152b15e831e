/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PATCH_PATCH_MACHINE_AARCH64_H
#define PROFC_PATCH_PATCH_MACHINE_AARCH64_H

#include <stdint.h>

/* x17, x16, x15 and x14, in this order, which thunks save on the stack, by pairs. */
#define PATCH_MAX_PUSHED 4
/* No thunk skips such a zone, which there is none of, or saves the flags. */
#define PATCH_RED_ZONE_BYTES 0
#define PATCH_SKIPPED_FROM   0
#define PATCH_FLAGS_FROM     0
#define PATCH_FLAGS_LEFT     0
#define PATCH_RAX_LEFT	     0
#define PATCH_FLAGS	     UINT64_C(0)

/*
 * A thunk is at most so far from the code that leads there. A branch reaches +-128 MiB; targets of
 * displaced branches may lie a bit beyond the code.
 */
#define PATCH_REACH_BYTES ((uint64_t)120 << 20)
/* Thunks reach data, which they only load and store, within +-4 GiB; a part's code is far smaller.
 */
#define PATCH_DATA_REACH_BYTES ((uint64_t)3 << 30)
/* Code within this span can share the memory of its probes. */
#define PATCH_SPAN_BYTES ((uint64_t)64 << 20)

/* Programs are mapped below this address. */
#define PATCH_ADDRESSES ((uint64_t)1 << 48)

/* Thunks choose a copy of a counter by tpidr_el0 alone, which every thread has. */
#define PATCH_READS_THREAD_DATA 0

/* Calls can be timed (span.h). */
#define PATCH_HAS_SPANS 0

#endif
