/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PATCH_PATCH_MACHINE_X86_64_H
#define PROFC_PATCH_PATCH_MACHINE_X86_64_H

#include <stdint.h>

/* rax, rcx and rdx, in this order, which thunks save on the stack. */
#define PATCH_MAX_PUSHED 3
/* Functions use so many bytes below their stack pointer. */
#define PATCH_RED_ZONE_BYTES 128
/*
 * Thunks of static probes begin with `lea -128(%rsp),%rsp; pushfq`. Their last instructions for
 * what they spare are those that restore the flags by way of rax, which is pushed for that, and
 * `lea 136(%rsp),%rsp`: offsets, and the bytes left, while the flags, and rax, are on the stack.
 */
#define PATCH_SKIPPED_FROM 5
#define PATCH_FLAGS_FROM   6
#define PATCH_FLAGS_LEFT   8
#define PATCH_RAX_LEFT	   21
/* Bits of the flags that instructions set and read: carry, parity, adjust, zero, sign, overflow. */
#define PATCH_FLAGS UINT64_C(0x8d5)

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
