/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PATCH_PATCH_MACHINE_X86_64_H
#define PROFC_PATCH_PATCH_MACHINE_X86_64_H

#include <stdint.h>

/* rax, rcx and rdx, in this order, which thunks save on the stack. */
#define PATCH_MAX_PUSHED 3

/*
 * A thunk is at most so far from the code that leads there. Jumps reach +-2 GiB; operands of
 * displaced instructions may lie a bit beyond the code.
 */
#define PATCH_REACH_BYTES ((uint64_t)2000 << 20)
/* 0: all that thunks use, they reach as they do the code. */
#define PATCH_DATA_REACH_BYTES ((uint64_t)0)
/* Code within this span can share the memory of its probes. */
#define PATCH_SPAN_BYTES ((uint64_t)1 << 30)

/* Programs are mapped below this address. */
#define PATCH_ADDRESSES ((uint64_t)1 << 47)

/*
 * Thunks choose a copy of a counter by the word at the thread's data: all threads must have some,
 * and may have copies of their own.
 */
#define PATCH_READS_THREAD_DATA 1

/* Calls can be timed (span.h). */
#define PATCH_HAS_SPANS 1

#endif
